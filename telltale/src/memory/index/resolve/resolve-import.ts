import type { Json } from '../../../lib/json.ts';
import type { GraphImport } from '../../../store/graph.ts';
import type { Language } from '../../memory.ts';
import { folderOf, foldersAbove, isWithin, joined } from './paths.ts';
import type { PackageHome, PathMapping, ResolveContext, ResolveView } from './read-context.ts';

/** The file of the folder that an import leads to; undefined for what is not in it, or cannot be told. */
export function resolveImport(
  { specifier, names }: Pick<GraphImport, 'specifier' | 'names'>,
  from: string,
  language: Language,
  view: ResolveView,
  context: ResolveContext,
): string | undefined {
  switch (language) {
    case 'typescript':
    case 'tsx':
    case 'javascript':
      return resolveScript(specifier, from, view, context);
    case 'python':
      return resolvePython(specifier, names, from, view);
    case 'go':
      return resolveGo(specifier, view, context);
    case 'rust':
      return resolveRust(specifier, from, view, context);
    case 'java':
      return resolveJava(specifier, view);
    case 'markdown':
      return resolveMarkdown(specifier, from, view);
  }
}

/** An import of TypeScript or JavaScript: a path, an alias of a tsconfig, or a package of the folder's own. */
function resolveScript(
  specifier: string,
  from: string,
  view: ResolveView,
  context: ResolveContext,
): string | undefined {
  const asked = specifier.replace(/[?].*$/s, '');
  if (/^\.{0,2}(?:\/|$)/.test(asked)) {
    if (asked.startsWith('/') || asked === '') return undefined;
    const base = joined(folderOf(from), asked);
    return base === undefined ? undefined : fileAt(base, view, asked.endsWith('/'));
  }
  if (/^[a-z]+:/i.test(asked)) return undefined;
  return byConfig(asked, from, view, context.configs) ?? byPackage(asked, from, view, context.packages);
}

/** In the order in which TypeScript looks. */
const ENDINGS = ['.ts', '.tsx', '.d.ts', '.mts', '.cts', '.js', '.jsx', '.mjs', '.cjs'];
/** What is written for the file that it is compiled to. */
const WRITTEN_FOR: Readonly<Record<string, readonly string[]>> = {
  '.js': ['.ts', '.tsx', '.d.ts', '.jsx'],
  '.jsx': ['.tsx', '.d.ts'],
  '.mjs': ['.mts', '.d.mts'],
  '.cjs': ['.cts', '.d.cts'],
};

function fileAt(base: string, view: ResolveView, isFolder = false): string | undefined {
  if (!isFolder) {
    const [ending = ''] = /\.[cm]?jsx?$/.exec(base) ?? [];
    const stem = base.slice(0, base.length - ending.length);
    for (const other of WRITTEN_FOR[ending] ?? []) if (view.has(stem + other)) return stem + other;
    if (view.has(base)) return base;
    for (const each of ENDINGS) if (view.has(base + each)) return base + each;
  }
  const start = base === '' ? 'index' : `${base}/index`;
  for (const each of ENDINGS) if (view.has(start + each)) return start + each;
  return undefined;
}

function byConfig(
  asked: string,
  from: string,
  view: ResolveView,
  configs: readonly PathMapping[],
): string | undefined {
  const config = configs.find(({ folder }) => isWithin(from, folder));
  if (config === undefined) return undefined;
  for (const [pattern, targets] of config.paths) {
    const rest = matched(pattern, asked);
    if (rest === undefined) continue;
    for (const target of targets) {
      const base = joined(target.replace('*', () => rest));
      const found = base === undefined ? undefined : fileAt(base, view);
      if (found !== undefined) return found;
    }
  }
  const base = config.baseUrl === undefined ? undefined : joined(config.baseUrl, asked);
  return base === undefined ? undefined : fileAt(base, view);
}

/** What the star of a pattern stands for: `''` where there is none and both are the same. */
function matched(pattern: string, asked: string): string | undefined {
  const star = pattern.indexOf('*');
  if (star === -1) return pattern === asked ? '' : undefined;
  const [before, behind] = [pattern.slice(0, star), pattern.slice(star + 1)];
  if (asked.length < before.length + behind.length) return undefined;
  if (!(asked.startsWith(before) && asked.endsWith(behind))) return undefined;
  return asked.slice(before.length, asked.length - behind.length);
}

function byPackage(
  asked: string,
  from: string,
  view: ResolveView,
  packages: ReadonlyMap<string, PackageHome>,
): string | undefined {
  if (asked.startsWith('#')) {
    const nearest = [...packages.values()]
      .filter(({ folder }) => isWithin(from, folder))
      .toSorted((a, b) => b.folder.length - a.folder.length)[0];
    return nearest === undefined ? undefined : mapped(nearest.imports, asked, nearest, view);
  }
  const parts = asked.split('/');
  const name = parts.slice(0, asked.startsWith('@') ? 2 : 1).join('/');
  const home = packages.get(name);
  if (home === undefined) return undefined;
  const rest = asked.slice(name.length + 1);
  const exported = mapped(home.exports, rest === '' ? '.' : `./${rest}`, home, view);
  if (exported !== undefined) return exported;
  if (rest === '' && home.main !== undefined) {
    const main = packageFile(home.main, home, view);
    if (main !== undefined) return main;
  }
  for (const trial of [rest, `src/${rest}`]) {
    const base = joined(home.folder, trial);
    const found = base === undefined ? undefined : fileAt(base, view);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Entries of `exports` or `imports`: those that are named first, then those with a star. */
function mapped(
  map: Json | undefined,
  key: string,
  home: PackageHome,
  view: ResolveView,
): string | undefined {
  if (map === undefined || map === null) return undefined;
  const isTable =
    typeof map === 'object' && !Array.isArray(map) && Object.keys(map).some((each) => /^[.#]/.test(each));
  const table: Readonly<Record<string, Json>> = isTable ? (map as Record<string, Json>) : { '.': map };
  const entries = Object.entries(table).toSorted(
    ([a], [b]) => Number(a.includes('*')) - Number(b.includes('*')),
  );
  for (const [pattern, target] of entries) {
    const rest = matched(pattern, key);
    if (rest === undefined) continue;
    for (const file of targetsOf(target, 0)) {
      const found = packageFile(
        file.replaceAll('*', () => rest),
        home,
        view,
      );
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

const MAX_CONDITIONS_DEEP = 4;

/** Of all conditions: which of them holds is not known here, and only one is likely to be a file of the folder. */
function targetsOf(target: Json, depth: number): readonly string[] {
  if (typeof target === 'string') return [target];
  if (target === null || typeof target !== 'object' || depth > MAX_CONDITIONS_DEEP) return [];
  return Object.values(target).flatMap((each) => targetsOf(each as Json, depth + 1));
}

const BUILT = /^(?:\.\/)?(?:dist|lib|build|out|esm|cjs)(?:\/(?:esm|cjs|types))?\//;

/** A file that a package names: itself, or the source that it is built from. */
function packageFile(target: string, { folder }: PackageHome, view: ResolveView): string | undefined {
  const source = target.replace(/\.d\.([cm]?)ts$/, '.$1js');
  const trials = [target, source.replace(BUILT, 'src/'), source.replace(BUILT, '')];
  for (const trial of trials) {
    const base = joined(folder, trial);
    const found = base === undefined ? undefined : fileAt(base, view);
    if (found !== undefined) return found;
  }
  return undefined;
}

const firstThere = (view: ResolveView, trials: readonly (string | undefined)[]): string | undefined =>
  trials.find((path) => path !== undefined && view.has(path));

const PACKAGE = /(?:^|\/)__init__\.pyi?$/;

/** What is taken from a package by a single name is a module of it, where there is one: `from . import module`. */
function resolvePython(
  specifier: string,
  names: readonly string[],
  from: string,
  view: ResolveView,
): string | undefined {
  const module = pythonModule(specifier, from, view);
  const [name = '*'] = names;
  if (names.length !== 1 || name === '*' || !(module === undefined || PACKAGE.test(module))) return module;
  return pythonModule(`${specifier}${specifier.endsWith('.') ? '' : '.'}${name}`, from, view) ?? module;
}

/** Imports of Python by which each name may lead elsewhere are told one by one. */
export function pythonImports(
  imports: readonly GraphImport[],
  from: string,
  view: ResolveView,
): readonly GraphImport[] {
  return imports.flatMap((each) => {
    const { specifier, names } = each;
    if (names.length < 2) return [each];
    const single = names.map((name) => ({ ...each, names: [name] }));
    const module = pythonModule(specifier, from, view);
    if (module !== undefined) return PACKAGE.test(module) ? single : [each];
    const isPart = single.some((one) => resolvePython(specifier, one.names, from, view) !== undefined);
    return isPart ? single : [each];
  });
}

/** `.a`, `..b.c` from the package of the file; `a.b` from wherever modules may be looked for. */
function pythonModule(specifier: string, from: string, view: ResolveView): string | undefined {
  const [, dots = '', name = ''] = /^(\.*)(.*)$/s.exec(specifier) ?? [];
  const path = name.replaceAll('.', '/');
  const inFolder = (folder: string | undefined) => {
    const base = folder === undefined ? undefined : joined(folder, path);
    if (base === undefined) return undefined;
    const start = base === '' ? '' : `${base}/`;
    const file = path === '' ? [] : [`${base}.py`, `${base}.pyi`];
    return firstThere(view, [`${start}__init__.py`, ...file, `${start}__init__.pyi`]);
  };
  if (dots !== '') return inFolder(joined(folderOf(from), '../'.repeat(dots.length - 1)));
  if (path === '') return undefined;
  // Within a package an absolute import does not mean a neighbor: modules are looked for from outside of it.
  const roots = foldersAbove(from).filter((folder) => folder === '' || !view.has(`${folder}/__init__.py`));
  for (const root of [...roots, 'src', 'lib']) {
    const found = inFolder(root);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A package of Go is a folder: its first file stands for it. */
function resolveGo(specifier: string, view: ResolveView, { goModules }: ResolveContext): string | undefined {
  for (const { module, folder } of goModules) {
    if (!isWithin(specifier, module)) continue;
    const inside = joined(folder, specifier.slice(module.length));
    const found = inside === undefined ? undefined : view.firstIn(inside, '.go');
    if (found !== undefined) return found;
  }
  return undefined;
}

/** `mod x;` names a file below; of `crate::a::b` the longest path that is one is the module, and the rest an item of it. */
function resolveRust(
  specifier: string,
  from: string,
  view: ResolveView,
  { crates }: ResolveContext,
): string | undefined {
  const parts = specifier
    .replace(/^(?:mod|use)\s+/, '')
    .replace(/^::/, '')
    .split('::');
  const [first = ''] = parts;
  const own = moduleFolder(from);
  if (first === 'crate') return longest(crateRoot(from, view), parts.slice(1), view);
  if (first === 'self') return longest(own, parts.slice(1), view);
  if (first === 'super') {
    const ups = parts.findIndex((part) => part !== 'super');
    const count = ups === -1 ? parts.length : ups;
    return longest(joined(own, '../'.repeat(count)), parts.slice(count), view);
  }
  const below = longest(own, parts, view, 1);
  if (below !== undefined) return below;
  const crate = crates.get(first);
  return crate === undefined ? undefined : longest(joined(crate, 'src'), parts.slice(1), view);
}

/** Where the modules that a file declares stand. */
function moduleFolder(from: string): string {
  const name = from.slice(from.lastIndexOf('/') + 1);
  return /^(?:mod|lib|main)\.rs$/.test(name) ? folderOf(from) : from.replace(/\.rs$/, '');
}

const RUST_ROOTS = ['lib.rs', 'main.rs', 'mod.rs'];

function crateRoot(from: string, view: ResolveView): string | undefined {
  return foldersAbove(from).find((folder) =>
    ['lib.rs', 'main.rs'].some((name) => view.has(folder === '' ? name : `${folder}/${name}`)),
  );
}

/** `least` parts at least are a module. */
function longest(
  folder: string | undefined,
  parts: readonly string[],
  view: ResolveView,
  least = 0,
): string | undefined {
  if (folder === undefined) return undefined;
  for (let count = parts.length; count >= least; count--) {
    const path = joined(folder, ...parts.slice(0, count));
    if (path === undefined) return undefined;
    const trials =
      count === 0
        ? [...RUST_ROOTS.map((name) => joined(path, name)), `${path}.rs`]
        : [`${path}.rs`, `${path}/mod.rs`];
    const found = firstThere(view, trials);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A class is a file below folders of its package's names; what stands behind it is a member. */
function resolveJava(specifier: string, view: ResolveView): string | undefined {
  const parts = specifier.replace(/\.\*$/, '').split('.');
  for (let count = parts.length; count >= Math.max(1, parts.length - MAX_MEMBERS); count--) {
    const found = view.bySuffix(`${parts.slice(0, count).join('/')}.java`);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** `a.B.Inner.method`. */
const MAX_MEMBERS = 2;

const ELSEWHERE = /^(?:[a-z][a-z0-9+.-]*:|\/\/|#)/i;

function resolveMarkdown(specifier: string, from: string, view: ResolveView): string | undefined {
  if (ELSEWHERE.test(specifier)) return undefined;
  const path = decoded(specifier.replace(/[?#].*$/s, ''));
  if (path === '') return undefined;
  const target = path.startsWith('/') ? joined(path) : joined(folderOf(from), path);
  if (target === undefined) return undefined;
  const start = target === '' ? '' : `${target}/`;
  return firstThere(view, [target, `${target}.md`, `${start}README.md`, `${start}index.md`]);
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path; // It has a percent sign of its own.
  }
}
