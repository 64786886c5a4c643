import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import ts from 'typescript';
import type { StageResult } from './stage-result.ts';
import { type Walk, walkOneAction } from './walk.ts';

/** `npm test -- --only house --update` lowers it. To allow more, edit it by hand and say why in the commit. */
const RATCHET = 'scripts/check/house-ratchet.json';

/** What one folder of sources looks like. */
export interface HouseFigures {
  /** Only printed: these grow with what is new. */
  readonly sizes: Readonly<Record<string, number>>;
  /** The check fails when one of these grows. */
  readonly held: Readonly<Record<string, number>>;
  readonly folders: readonly { readonly name: string; readonly files: number; readonly lines: number }[];
}

interface Source {
  readonly path: string;
  readonly lines: number;
  readonly tree: ts.SourceFile;
}

/** Measures `telltale/src`, and the console and tests of the same repository. */
export function measureHouse(root: string): HouseFigures {
  const src = join(root, 'telltale/src');
  const sources = readSources(src);
  const lines = sources.map((source) => source.lines).sort((a, b) => a - b);
  const total = lines.reduce((sum, count) => sum + count, 0);
  const { importers, lateOnly } = countImporters(sources);
  const counted = sources.filter(({ path }) => !lateOnly.has(path));
  const single = counted.filter(({ path }) => importers.get(path)?.size === 1 && !lateOnly.has(path));
  const tricks = countTricks(sources);
  return {
    sizes: {
      'source files': sources.length,
      'source lines': total,
      'longest file': lines.at(-1) ?? 0,
      'median lines per file': lines[Math.floor(lines.length / 2)] ?? 0,
      'console files': readSources(join(root, 'console/src')).length,
    },
    held: {
      'files with one importer, %': percent(single.length, counted.length),
      'files of at most 30 lines, %': percent(lines.filter((count) => count <= 30).length, lines.length),
      'import lines, %': percent(importLines(sources), total),
      'type names declared in several files': homonyms(sources),
      'literals spread in place': tricks.spreads,
      'this: parameters': tricks.thisParameters,
      withMethods: tricks.withMethods,
      'interfaces named *Edges': tricks.edges,
      'instanceof Promise outside the parser': tricks.promiseChecks,
      'names exported by the main entry': exportedNames(sources, join(src, 'index.ts')),
      'tests that import agent internals': testsOfInternals(root),
    },
    folders: byFolder(src, sources),
  };
}

/** The stage `house`: prints the figures, and fails where one that is held is worse than the ratchet. */
export async function checkHouse(root: string, update: boolean): Promise<StageResult> {
  const figures = measureHouse(root);
  const walk = await walkOneAction(root);
  const held = { ...figures.held, ...walkFigures(walk) };
  const path = join(root, RATCHET);
  let ratchet = JSON.parse(readFileSync(path, 'utf8')) as Ratchet;
  if (update) {
    ratchet = lowerRatchet(held, ratchet);
    writeFileSync(path, `${JSON.stringify(ratchet, null, 2)}\n`);
  }
  const failures = compareWithRatchet(held, ratchet);
  const report = describeHouse(figures, held, ratchet);
  return { passed: Object.keys(held).length - failures.length, failures, output: '', report };
}

/** The most that each figure may be. */
type Ratchet = Readonly<Record<string, number>>;

/** The ratchet after an update: it takes lower and new figures, and never a higher one. */
export function lowerRatchet(held: Ratchet, ratchet: Ratchet): Ratchet {
  return Object.fromEntries(
    Object.entries(held).map(([name, value]) => [name, Math.min(value, ratchet[name] ?? value)]),
  );
}

/** A line for each figure that is worse than the ratchet, or that the ratchet does not know. */
export function compareWithRatchet(held: Ratchet, ratchet: Ratchet): readonly string[] {
  return Object.entries(held).flatMap(([name, value]) => {
    const most = ratchet[name];
    if (most === undefined)
      return [`${name} is not in ${RATCHET}; "npm test -- --only house --update" adds it`];
    return value > most ? [`${name}: ${value}, and the ratchet allows ${most}`] : [];
  });
}

const walkFigures = (walk: Walk) => ({
  'files in the walk of one action': walk.files,
  'file changes in the walk of one action': walk.fileChanges,
});

function describeHouse({ sizes, folders }: HouseFigures, held: Ratchet, ratchet: Ratchet): string {
  const row = (value: number, text: string) => `${String(value).padStart(8)}  ${text}`;
  return [
    ...Object.entries(sizes).map(([name, value]) => row(value, name)),
    '',
    ...Object.entries(held).map(([name, value]) => {
      const most = ratchet[name];
      return row(value, most === undefined || most === value ? name : `${name} (ratchet: ${most})`);
    }),
    '',
    '   files   lines  folder',
    ...folders.map(
      ({ name, files, lines }) => `${String(files).padStart(8)}${String(lines).padStart(8)}  ${name}`,
    ),
  ].join('\n');
}

function readSources(folder: string): readonly Source[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file) && !/\.(test|d)\.tsx?$/.test(file))
    .map((file) => {
      const path = join(folder, file);
      const text = readFileSync(path, 'utf8');
      const tree = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
      return { path, lines: text.split('\n').length - 1, tree };
    });
}

/** Who imports each file, and the files that are reached by `import()` alone: those count for neither side. */
function countImporters(sources: readonly Source[]) {
  const known = new Set(sources.map(({ path }) => path));
  const importers = new Map<string, Set<string>>();
  const late = new Set<string>();
  for (const { path, tree } of sources) {
    for (const [specifier, isLate] of specifiersOf(tree)) {
      const target = resolve(dirname(path), specifier);
      if (!known.has(target)) continue;
      if (isLate) late.add(target);
      else importers.set(target, (importers.get(target) ?? new Set()).add(path));
    }
  }
  return { importers, lateOnly: new Set([...late].filter((path) => !importers.has(path))) };
}

function specifiersOf(tree: ts.SourceFile): readonly (readonly [specifier: string, isLate: boolean])[] {
  const found: (readonly [string, boolean])[] = [];
  visit(tree, (node) => {
    if ((ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) && node.moduleSpecifier !== undefined)
      found.push([(node.moduleSpecifier as ts.StringLiteral).text, false]);
    else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const [specifier] = node.arguments;
      if (specifier !== undefined && ts.isStringLiteralLike(specifier)) found.push([specifier.text, true]);
    }
  });
  return found.filter(([specifier]) => specifier.startsWith('.'));
}

function importLines(sources: readonly Source[]): number {
  return sources
    .flatMap(({ tree }) => tree.statements.filter(ts.isImportDeclaration))
    .reduce((sum, statement) => sum + statement.getText().split('\n').length, 0);
}

/** How many types have a name that a type in another file has as well. */
function homonyms(sources: readonly Source[]): number {
  const files = new Map<string, Set<string>>();
  for (const { path, tree } of sources)
    for (const statement of tree.statements)
      if (
        (ts.isInterfaceDeclaration(statement) ||
          ts.isTypeAliasDeclaration(statement) ||
          ts.isClassDeclaration(statement)) &&
        statement.name !== undefined
      )
        files.set(statement.name.text, (files.get(statement.name.text) ?? new Set()).add(path));
  return [...files.values()].filter((declaredIn) => declaredIn.size > 1).length;
}

function countTricks(sources: readonly Source[]) {
  const tricks = { spreads: 0, thisParameters: 0, withMethods: 0, edges: 0, promiseChecks: 0 };
  for (const { path, tree } of sources)
    visit(tree, (node) => {
      const isSpread =
        (ts.isSpreadAssignment(node) && ts.isObjectLiteralExpression(node.expression)) ||
        (ts.isSpreadElement(node) && ts.isArrayLiteralExpression(node.expression));
      if (isSpread) tricks.spreads++;
      else if (ts.isParameter(node) && node.name.getText() === 'this') tricks.thisParameters++;
      else if (ts.isIdentifier(node) && node.text === 'withMethods') tricks.withMethods++;
      else if (
        (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) &&
        /Edges$/.test(node.name.text)
      )
        tricks.edges++;
      else if (
        ts.isBinaryExpression(node) &&
        node.operatorToken.kind === ts.SyntaxKind.InstanceOfKeyword &&
        node.right.getText() === 'Promise' &&
        !/[\\/](parser|protocol)[\\/]/.test(path)
      )
        tricks.promiseChecks++;
    });
  return tricks;
}

function exportedNames(sources: readonly Source[], index: string): number {
  const tree = sources.find(({ path }) => path === index)?.tree;
  const statements = tree?.statements.filter(ts.isExportDeclaration) ?? [];
  return statements.reduce((sum, { exportClause }) => {
    return (
      sum + (exportClause !== undefined && ts.isNamedExports(exportClause) ? exportClause.elements.length : 0)
    );
  }, 0);
}

/** Test files that import from the agent's folder, past the library's entry. */
function testsOfInternals(root: string): number {
  return readdirSync(join(root, 'telltale/test'), { recursive: true, encoding: 'utf8' }).filter((file) => {
    if (!file.endsWith('.test.ts')) return false;
    const text = readFileSync(join(root, 'telltale/test', file), 'utf8');
    return /(?:from|import\() ?'(?:\.\.\/)+src\/(?:agent|session)\//.test(text);
  }).length;
}

function byFolder(src: string, sources: readonly Source[]): HouseFigures['folders'] {
  const folders = new Map<string, { files: number; lines: number }>();
  for (const { path, lines } of sources) {
    const [name = ''] = relative(src, path).split(/[\\/]/);
    const folder = folders.get(name) ?? { files: 0, lines: 0 };
    folders.set(name, { files: folder.files + 1, lines: folder.lines + lines });
  }
  return [...folders].map(([name, folder]) => ({ name, ...folder })).sort((a, b) => b.lines - a.lines);
}

function visit(node: ts.Node, look: (node: ts.Node) => void): void {
  look(node);
  ts.forEachChild(node, (child) => visit(child, look));
}

const percent = (part: number, whole: number): number =>
  whole === 0 ? 0 : Math.round((1000 * part) / whole) / 10;
