import type { Json } from '../../../kernel/json.ts';
import { folderOf, isWithin, joined } from './paths.ts';
import type { PackageHome, PathMapping, ResolveContext } from './resolve-context.ts';
import type { ResolveView } from './resolve-view.ts';

/** An import of TypeScript or JavaScript: a path, an alias of a tsconfig, or a package of the folder's own. */
export function resolveScript(
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
