import { dirname, resolve } from 'node:path';
import { type Diagnostic, MANIFEST_LIMITS } from './diagnostic.ts';
import type { Env } from './environment.ts';
import { createNodeFiles, type Files, findProjectRoot, isInside } from './files.ts';
import { loadProject } from './project/load-project.ts';
import type { LoadResult } from './project/project.ts';
import { type CodeManifest, type FileWithCode, isFileWithCode } from './project/project-document.ts';
import type { CheckModules } from './project/read-code.ts';
import { createSourceCache } from './project/source-cache.ts';

/**
 * A manifest that is not a file, such as standard input or an editor's buffer. Its imports are relative to `folder`.
 */
export interface ManifestText {
  /** Its name in diagnostics. */
  readonly label: string;
  readonly bytes: Uint8Array;
  readonly folder: string;
}

/** A path, or a replacement for a file. */
export type ManifestEntry = string | ManifestText | CodeManifest | FileWithCode;

export interface LoadOptions {
  /** Where `${NAME}` is looked up, usually `process.env`. */
  readonly env: Env;
  /**
   * Files outside this folder are not read. By default, for each path: the nearest ancestor folder with telltale.yml,
   * package.json or .git; otherwise `cwd` if the path is below it; otherwise the path's own folder.
   */
  readonly root?: string | undefined;
  /** The base of relative paths and of paths in diagnostics. By default, the process's folder. */
  readonly cwd?: string | undefined;
  readonly files?: Files;
  /** Loads tool modules. Without it nothing is executed. */
  readonly checkModules?: CheckModules | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called after each file that was read, with the number so far. */
  readonly onProgress?: ((read: number) => void) | undefined;
}

/**
 * Reads manifests and all their imports, and checks each one and all of them together. It runs nothing. Mistakes are in
 * `diagnostics`. It rejects only if `signal` is aborted.
 */
export async function loadManifests(
  paths: readonly ManifestEntry[],
  options: LoadOptions,
): Promise<LoadResult> {
  const files = withGlobsKept(options.files ?? createNodeFiles());
  const cwd = resolve(options.cwd ?? '.');
  const cache = createSourceCache({ ...options, files, cwd });
  const rootsByFolder = new Map<string, string>();
  const entriesByRoot = new Map<string, ManifestEntry[]>();
  for (const path of paths) {
    const entry = typeof path === 'string' ? resolve(cwd, path) : path;
    const folder = folderOf(entry, cwd);
    const root = rootsByFolder.get(folder) ?? (await rootOf(folder, files, cwd, options.root));
    rootsByFolder.set(folder, root);
    const entries = entriesByRoot.get(root);
    if (entries === undefined) entriesByRoot.set(root, [entry]);
    else entries.push(entry);
  }
  const loaded = [];
  for (const [root, entries] of entriesByRoot)
    loaded.push(
      await loadProject(entries, root, {
        files,
        cache,
        signal: options.signal,
        checkModules: options.checkModules,
      }),
    );
  const diagnostics = limited(inOrder(distinctDiagnostics(loaded.flatMap((project) => project.diagnostics))));
  return Object.freeze({
    ok: diagnostics.every(({ severity }) => severity !== 'error'),
    projects: Object.freeze(loaded.map(({ project }) => project)),
    sources: Object.freeze(cache.sources()),
    diagnostics: Object.freeze(diagnostics),
    documents: cache.documents(),
  });
}

function folderOf(entry: ManifestEntry, cwd: string): string {
  if (typeof entry === 'string') return dirname(entry);
  return isFileWithCode(entry) ? dirname(entry.path) : resolve(cwd, entry.folder);
}

async function rootOf(folder: string, files: Files, cwd: string, given: string | undefined): Promise<string> {
  if (given !== undefined) return resolve(cwd, given);
  return (await findProjectRoot(folder, files)) ?? (isInside(folder, cwd) ? cwd : folder);
}

/** Many agents of a project use the same globs, so each glob is evaluated once per load. */
function withGlobsKept(files: Files): Files {
  const kept = new Map<string, ReturnType<Files['glob']>>();
  return {
    ...files,
    glob(pattern, folder, signal) {
      const key = JSON.stringify([folder, pattern]);
      const found = kept.get(key) ?? files.glob(pattern, folder, signal);
      kept.set(key, found);
      return found;
    },
  };
}

/** Sorted from top to bottom within a file. Files come in the order in which they were first mentioned. */
function inOrder(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  const files = new Map<string, number>();
  for (const { file } of diagnostics) if (!files.has(file)) files.set(file, files.size);
  const rank = ({ file }: Diagnostic) => files.get(file) ?? 0;
  return diagnostics.toSorted(
    (a, b) => rank(a) - rank(b) || (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0),
  );
}

/** Nobody reads hundreds of diagnostics, so the first ones of each file are kept and the rest counted. */
function limited(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  const counts = new Map<string, number>();
  const hidden = new Map<string, Diagnostic[]>();
  const kept = diagnostics.filter((each) => {
    const count = (counts.get(each.file) ?? 0) + 1;
    counts.set(each.file, count);
    if (count <= MANIFEST_LIMITS.fileDiagnostics) return true;
    const more = hidden.get(each.file);
    if (more === undefined) hidden.set(each.file, [each]);
    else more.push(each);
    return false;
  });
  const closing = [...hidden].map(([file, more]): Diagnostic => {
    const severity = more.some((each) => each.severity === 'error') ? 'error' : 'warning';
    const message = `This file has ${more.length.toLocaleString('en')} more errors.`;
    return {
      severity,
      code: 'too_many_errors',
      file,
      message,
      hint: 'Fix the errors above first.',
    };
  });
  return [...kept, ...closing];
}

/**
 * Removes duplicates. A file that two projects share is reported once. So is a mistake that appears both where it is
 * written and, with the same words, at each alias for it. If only the alias is wrong, the alias is reported.
 */
function distinctDiagnostics(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  const seen = new Map<string, Diagnostic>();
  for (const each of diagnostics) {
    const key = keyOf(each, waysOf(each));
    if (!seen.has(key)) seen.set(key, each);
  }
  return [...seen.values()].filter((each) => {
    const way = waysOf(each);
    return !way.some((_place, index) => index > 0 && seen.has(keyOf(each, way.slice(index))));
  });
}

const keyOf = ({ file, code, message }: Diagnostic, way: readonly Way[]) =>
  JSON.stringify([file, code, message, way]);

type Way = readonly [line: number | undefined, column: number | undefined];

/** The positions from the use to the definition. */
const waysOf = ({ line, column, from = [] }: Diagnostic): readonly Way[] => [
  [line, column],
  ...from.map((place): Way => [place.line, place.column]),
];
