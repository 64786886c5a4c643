import { dirname, join, relative } from 'node:path';
import ts from 'typescript';
import { typescriptFiles } from '../../telltale/test/memory/oracle/compare.ts';
import { median } from '../parsing/measure.ts';

/** A place where something is called, as the compiler resolves it. */
export interface CompilerCall {
  /** `room/file.ts`, relative to the folder. */
  readonly path: string;
  readonly line: number;
  /** Names of the declarations that it stands in; none where it stands at the top of its module. */
  readonly within: readonly string[];
}

/** A function, and what the TypeScript compiler knows of it. */
export interface AskedSymbol {
  readonly name: string;
  readonly path: string;
  readonly line: number;
  readonly calls: readonly CompilerCall[];
}

const FEWEST = 3;
const MOST = 30;

/** Exported functions at the top of a module that are called in 3 to 30 places. */
export const calledFunctions = (folder: string): readonly AskedSymbol[] =>
  exportedFunctions(folder).filter(({ calls }) => calls.length >= FEWEST && calls.length <= MOST);

/**
 * Of each folder that has such functions the one whose number of calls is nearest to the folder's median (the first by
 * path and name), and of these `count`, spread evenly over the folders by name.
 */
export function spreadOver(symbols: readonly AskedSymbol[], count: number): readonly AskedSymbol[] {
  const roomOf = ({ path }: AskedSymbol) => path.split('/').slice(0, -1)[0];
  const rooms = [...new Set(symbols.flatMap((symbol) => roomOf(symbol) ?? []))].sort();
  const chosen = rooms.map((room) => nearestToMedian(symbols.filter((symbol) => roomOf(symbol) === room)));
  const step = Math.max(1, chosen.length / count);
  return Array.from(
    { length: Math.min(count, chosen.length) },
    (_, place) => chosen[Math.floor(place * step)]!,
  );
}

function nearestToMedian(symbols: readonly AskedSymbol[]): AskedSymbol {
  const middle = median(symbols.map(({ calls }) => calls.length));
  const key = ({ path, name }: AskedSymbol) => `${path} ${name}`;
  return [...symbols].sort(
    (one, other) =>
      Math.abs(one.calls.length - middle) - Math.abs(other.calls.length - middle) ||
      (key(one) < key(other) ? -1 : 1),
  )[0]!;
}

/** Every exported function at the top of a module, with all calls of it: the compiler's own resolution, not names. */
function exportedFunctions(folder: string): readonly AskedSymbol[] {
  // Packages and the library are left out: what they export is not called by a name of ours.
  const options: ts.CompilerOptions = {
    target: ts.ScriptTarget.ESNext,
    module: ts.ModuleKind.NodeNext,
    noEmit: true,
    noLib: true,
    types: [],
    allowImportingTsExtensions: true,
  };
  const host: ts.CompilerHost = {
    ...ts.createCompilerHost(options, true),
    resolveModuleNameLiterals: (specifiers, from) =>
      specifiers.map(({ text }) => ({
        resolvedModule: text.startsWith('.')
          ? { resolvedFileName: join(dirname(from), text), extension: ts.Extension.Ts }
          : undefined,
      })),
  };
  const program = ts.createProgram(typescriptFiles(folder), options, host);
  const checker = program.getTypeChecker();
  const calls = new Map<ts.Node, Map<string, CompilerCall>>();
  const found: { readonly node: ts.Node; readonly name: ts.Identifier }[] = [];
  const files = program
    .getSourceFiles()
    .filter(({ fileName }) => !relative(folder, fileName).startsWith('..'));
  const place = (node: ts.Node) => {
    const file = node.getSourceFile();
    const { line } = file.getLineAndCharacterOfPosition(node.getStart(file));
    return { path: relative(folder, file.fileName).replaceAll('\\', '/'), line: line + 1 };
  };

  const visit = (node: ts.Node): void => {
    const called = ts.isCallExpression(node) ? calleeOf(node, checker) : undefined;
    const declared = called === undefined ? undefined : declarationOf(checker, called);
    if (called !== undefined && declared !== undefined) {
      const at = place(called);
      const known = calls.get(declared) ?? new Map<string, CompilerCall>();
      known.set(`${at.path}:${at.line}`, { ...at, within: namesAround(node) });
      calls.set(declared, known);
    }
    ts.forEachChild(node, visit);
  };
  for (const file of files) {
    for (const statement of file.statements) found.push(...functionsOf(statement));
    visit(file);
  }
  return found.map(({ node, name }) => ({
    name: name.text,
    ...place(name),
    calls: [...(calls.get(node)?.values() ?? [])],
  }));
}

function functionsOf(
  statement: ts.Statement,
): readonly { readonly node: ts.Node; readonly name: ts.Identifier }[] {
  const isExported =
    ts.canHaveModifiers(statement) &&
    ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true;
  if (!isExported) return [];
  if (ts.isFunctionDeclaration(statement))
    return statement.name === undefined || statement.body === undefined
      ? []
      : [{ node: statement, name: statement.name }];
  if (!ts.isVariableStatement(statement)) return [];
  return statement.declarationList.declarations.flatMap((node) => {
    const { name, initializer } = node;
    const isFunction =
      initializer !== undefined && (ts.isArrowFunction(initializer) || ts.isFunctionExpression(initializer));
    return isFunction && ts.isIdentifier(name) ? [{ node, name }] : [];
  });
}

/** By its name, or as a member of a module: a function of a module cannot be called otherwise, but as a value. */
function calleeOf({ expression }: ts.CallExpression, checker: ts.TypeChecker): ts.Node | undefined {
  if (ts.isIdentifier(expression)) return expression;
  if (!ts.isPropertyAccessExpression(expression) || !ts.isIdentifier(expression.expression)) return undefined;
  const of = checker.getSymbolAtLocation(expression.expression);
  return of?.declarations?.some(ts.isNamespaceImport) ? expression.name : undefined;
}

function declarationOf(checker: ts.TypeChecker, name: ts.Node): ts.Node | undefined {
  const symbol = checker.getSymbolAtLocation(name);
  if (symbol === undefined) return undefined;
  const meant = (symbol.flags & ts.SymbolFlags.Alias) === 0 ? symbol : checker.getAliasedSymbol(symbol);
  return meant.valueDeclaration;
}

function namesAround(node: ts.Node): readonly string[] {
  const names: string[] = [];
  for (let at = node.parent; at !== undefined && !ts.isSourceFile(at); at = at.parent) {
    const name = ts.getNameOfDeclaration(at as ts.Declaration);
    if (name !== undefined) names.push(name.getText());
  }
  return names;
}
