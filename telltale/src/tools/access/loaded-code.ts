import { readFile, realpath } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { resolveLinks } from './permitted-paths.ts';

/** The most modules that are searched for imports. */
const MAX_MODULES = 1_000;
/** Imports by a relative path: `from './x.mjs'`, `import './x.mjs'`, `import('./x.mjs')`, `require('./x.cjs')`. */
export const IMPORTED = /(?:\bfrom|\bimport|\brequire)\s*\(?\s*['"](\.{1,2}\/[^'"\n]+)['"]/g;
/** Imports by an absolute path or a file URL. */
const IMPORTED_ABSOLUTE = /(?:\bfrom|\bimport|\brequire)\s*\(?\s*['"`]((?:\/|file:\/\/\/)[^'"`\n]+)['"`]/g;
/** A relative path to code anywhere in a module: `new URL('./worker.mjs', import.meta.url)`. */
const CODE_PATH = /['"`](\.{1,2}\/[^'"`\n$]+\.(?:[cm]?[jt]sx?|node|wasm))['"`]/g;
/** An import whose path is computed at run time may load any code near the module. */
const COMPUTED =
  /\b(?:import|require)\s*\(\s*(?!['"][^'"\n]*['"]\s*[,)])|\bcreateRequire\b|\bregister(?:Hooks)?\s*\(|\breaddir/;
/** The endings that `require` adds to a path when it looks for a file. */
const TRIED_ENDINGS = ['.js', '.cjs', '.json', '.node'];
/** Imports of a package, or of an entry of "imports" in package.json. */
const PACKAGE = /(?:\bfrom|\bimport|\brequire)\s*\(?\s*['"]((?![./])(?!node:)[^'"\n:]+)['"]/g;

/** `import a, b.c`, `from .a import b`. */
const PYTHON_IMPORT = /^[ \t]*(?:import|from)[ \t]+\.*([^\n#;]*)/gm;

/** The code that runs inside the runtime, links resolved. */
export interface LoadedCode {
  /** Modules and what they import by a path. Some may not exist yet. */
  readonly files: readonly string[];
  /** Folders of modules that compute what they import. Any code in them may be loaded. */
  readonly dynamicFolders: readonly string[];
  /** Folders of packages outside node_modules, where workspace links lead. */
  readonly packages: readonly string[];
}

/** Finds the modules, everything they import by a path, and the folders of linked packages they import by name. */
export async function findLoadedCode(modules: readonly string[]): Promise<LoadedCode> {
  const waiting = [...modules];
  const files = new Set<string>();
  const packages = new Set<string>();
  const open = new Set<string>();
  for (let path = waiting.pop(); path !== undefined && files.size < MAX_MODULES; path = waiting.pop()) {
    const real = await resolveLinks(path).then(
      (followed) => followed.real, // a module that does not exist yet is protected, too
      () => undefined,
    );
    if (real === undefined || files.has(real)) continue;
    files.add(real);
    const source = await readFile(real, 'utf8').catch(() => undefined); // a folder, or a file that does not exist yet
    const folder = dirname(real);
    if (source === undefined && !/\.[cm]?[jt]sx?$|\.json$|\.node$|\.wasm$/.test(real))
      waiting.push(
        ...TRIED_ENDINGS.map((ending) => real + ending),
        join(real, 'index.js'),
        join(real, 'package.json'),
      );
    if (source !== undefined && COMPUTED.test(source)) open.add(folder);
    for (const pattern of [IMPORTED, CODE_PATH])
      for (const [, found = ''] of source?.matchAll(pattern) ?? []) waiting.push(resolve(folder, found));
    for (const [, found = ''] of source?.matchAll(IMPORTED_ABSOLUTE) ?? []) {
      const absolute = found.startsWith('file:') ? filePathOf(found) : found;
      if (absolute !== undefined) waiting.push(absolute);
    }
    for (const [, name = ''] of source?.matchAll(PACKAGE) ?? []) {
      if (name.startsWith('#')) waiting.push(...(await packageImports(folder)));
      else for (const linked of await linkedPackages(name, folder)) packages.add(linked);
    }
  }
  return { files: [...files], dynamicFolders: [...open], packages: [...packages] };
}

const FOLDER_OPTION = /^(?:-C|--(?:prefix|directory|cwd|dir))$/;

/** The folders a command runs in, including those its options switch to: `make -C server`, `npm --prefix=server`. */
export function commandFolders(words: readonly string[], cwd: string): readonly string[] {
  const folders = [cwd];
  for (const [index, word] of words.entries()) {
    const [option = '', joined] = word.split('=', 2);
    const folder = joined ?? words[index + 1];
    if (FOLDER_OPTION.test(option) && folder !== undefined) folders.push(resolve(cwd, folder));
  }
  return folders;
}

const RUNS_PACKAGES = /^(?:npx|pnpx|bunx)$/;
const PACKAGE_LIST = /[\\/](?:package(?:-lock)?\.json|yarn\.lock|pnpm-lock\.yaml)$/;

/**
 * The files among these that decide what a command runs. `npx` picks a package by name, so package.json and lock files
 * do not count for it, but `.npmrc` does.
 */
export const filesReadAtStart = ([program = '']: readonly string[], files: readonly string[]) =>
  RUNS_PACKAGES.test(program) ? files.filter((file) => !PACKAGE_LIST.test(file)) : files;

/** The file behind `python -m server.main`. */
export function pythonModules(words: readonly string[], at: string): readonly string[] {
  const index = words.indexOf('-m');
  const module = index === -1 ? '' : (words[index + 1] ?? '');
  return /^\w+(?:\.\w+)*$/.test(module) ? [join(at, `${module.replaceAll('.', '/')}.py`)] : [];
}

/** What Python programs load from the folders of their scripts. */
export interface PythonCode {
  readonly files: readonly string[];
  /** Python looks for every module here first, even for system modules, so any new file may be loaded. */
  readonly folders: readonly string[];
  /** Folders of packages imported by name. */
  readonly packages: readonly string[];
}

/**
 * Finds the scripts and the modules they import from their own folder. `server/main.py` may stand for `server/main/`.
 */
export async function findPythonCode(scripts: readonly string[]): Promise<PythonCode> {
  const waiting = [...scripts];
  const [files, folders, packages] = [new Set<string>(), new Set<string>(), new Set<string>()];
  for (let path = waiting.pop(); path !== undefined && files.size < MAX_MODULES; path = waiting.pop()) {
    const real = await resolveLinks(path).then(
      (followed) => followed.real,
      () => undefined,
    );
    if (real === undefined || files.has(real)) continue;
    files.add(real);
    const source = await readFile(real, 'utf8').catch(() => undefined); // does not exist, or is a package
    if (source === undefined) {
      const asPackage = real.replace(/\.py$/, '');
      if ((await realpath(asPackage).catch(() => undefined)) !== undefined) packages.add(asPackage);
      continue;
    }
    const folder = dirname(real);
    folders.add(folder);
    for (const [, list = ''] of source.matchAll(PYTHON_IMPORT))
      for (const [name] of list.matchAll(/(?<![\w.])[A-Za-z_]\w*/g)) waiting.push(join(folder, `${name}.py`));
  }
  return { files: [...files], folders: [...folders], packages: [...packages] };
}

/** The folder and all its parents, innermost first. */
export function withParents(folder: string): readonly string[] {
  const levels: string[] = [];
  for (let at = folder; ; at = dirname(at)) {
    levels.push(at);
    if (dirname(at) === at) return levels;
  }
}

/** The real folders of a package that node_modules links to. Empty for an ordinary package. */
export async function linkedPackages(name: string, folder: string): Promise<readonly string[]> {
  const [first = '', second = ''] = name.split('/');
  const own = first.startsWith('@') ? join(first, second) : first;
  const found: string[] = [];
  for (const level of withParents(folder)) {
    const real = await realpath(join(level, 'node_modules', own)).catch(() => undefined);
    if (real !== undefined && !/[\\/]node_modules[\\/]/.test(real)) found.push(real);
  }
  return found;
}

/** The paths in the nearest package.json, which is where `#name` is looked up. */
async function packageImports(folder: string): Promise<readonly string[]> {
  for (const level of withParents(folder)) {
    const text = await readFile(join(level, 'package.json'), 'utf8').catch(() => undefined);
    if (text === undefined) continue;
    return [...text.matchAll(/"(\.\/[^"*\n]+)"/g)].map(([, path = '']) => resolve(level, path));
  }
  return [];
}

function filePathOf(url: string): string | undefined {
  try {
    return fileURLToPath(url);
  } catch {
    return undefined; // not a file URL on this system
  }
}
