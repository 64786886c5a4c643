import type { GraphImport } from '../../../store/graph.ts';
import { folderOf, foldersAbove, isWithin, joined } from './paths.ts';
import type { ResolveContext } from './resolve-context.ts';
import type { ResolveView } from './resolve-view.ts';

const firstThere = (view: ResolveView, trials: readonly (string | undefined)[]): string | undefined =>
  trials.find((path) => path !== undefined && view.has(path));

const PACKAGE = /(?:^|\/)__init__\.pyi?$/;

/** What is taken from a package by a single name is a module of it, where there is one: `from . import module`. */
export function resolvePython(
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
  // Within a package an absolute import does not mean a neighbour: modules are looked for from outside of it.
  const roots = foldersAbove(from).filter((folder) => folder === '' || !view.has(`${folder}/__init__.py`));
  for (const root of [...roots, 'src', 'lib']) {
    const found = inFolder(root);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A package of Go is a folder: its first file stands for it. */
export function resolveGo(
  specifier: string,
  view: ResolveView,
  { goModules }: ResolveContext,
): string | undefined {
  for (const { module, folder } of goModules) {
    if (!isWithin(specifier, module)) continue;
    const inside = joined(folder, specifier.slice(module.length));
    const found = inside === undefined ? undefined : view.firstIn(inside, '.go');
    if (found !== undefined) return found;
  }
  return undefined;
}

/** `mod x;` names a file below; of `crate::a::b` the longest path that is one is the module, and the rest an item of it. */
export function resolveRust(
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
export function resolveJava(specifier: string, view: ResolveView): string | undefined {
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

export function resolveMarkdown(specifier: string, from: string, view: ResolveView): string | undefined {
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
