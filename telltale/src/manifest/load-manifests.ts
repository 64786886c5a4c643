import { resolve } from 'node:path';
import type { Diagnostic } from './diagnostic.ts';
import type { Env } from './env/substitute-env.ts';
import type { Files } from './files/files.ts';
import { createNodeFiles } from './files/node-files.ts';
import { findProjectRoot, isInside } from './files/project-root.ts';
import { loadProject } from './project/load-project.ts';
import type { LoadResult } from './project/project.ts';
import { createSourceCache } from './project/source-cache.ts';

/** A manifest that is no file: standard input, an editor's buffer. Its imports are relative to `folder`. */
export interface ManifestText {
  /** What diagnostics call it. */
  readonly label: string;
  readonly bytes: Uint8Array;
  readonly folder: string;
}

export interface LoadOptions {
  /** Where `${NAME}` is looked up: usually `process.env`. */
  readonly env: Env;
  /**
   * Folder that no file may lie outside of. By default, for each path: the nearest folder up from it that holds
   * telltale.yml, package.json or .git; else `cwd` if the path is below it; else the path's own folder.
   */
  readonly root?: string | undefined;
  /** What relative paths and the paths in diagnostics are relative to. The process's folder by default. */
  readonly cwd?: string | undefined;
  readonly files?: Files;
  readonly signal?: AbortSignal | undefined;
  /** Called whenever a file has been read, with how many have been. */
  readonly onProgress?: ((read: number) => void) | undefined;
}

/**
 * Reads manifests and all they import, and checks them one by one and against each other. Nothing is run. What is
 * wrong with them is in `diagnostics`; rejects only when `signal` is aborted.
 */
export async function loadManifests(
  paths: readonly (string | ManifestText)[],
  options: LoadOptions,
): Promise<LoadResult> {
  const files = options.files ?? createNodeFiles();
  const cwd = resolve(options.cwd ?? '.');
  const cache = createSourceCache({ ...options, files, cwd });
  const roots = new Map<string, (string | ManifestText)[]>();
  for (const path of paths) {
    const entry = typeof path === 'string' ? resolve(cwd, path) : path;
    const root = await rootOf(entry, files, cwd, options.root);
    roots.set(root, [...(roots.get(root) ?? []), entry]);
  }
  const loaded = [];
  for (const [root, entries] of roots)
    loaded.push(await loadProject(entries, root, { files, cache, signal: options.signal }));
  const diagnostics = inOrder(distinct(loaded.flatMap((project) => project.diagnostics)));
  return Object.freeze({
    ok: diagnostics.every(({ severity }) => severity !== 'error'),
    projects: Object.freeze(loaded.map(({ project }) => project)),
    sources: Object.freeze(cache.sources()),
    diagnostics: Object.freeze(diagnostics),
    documents: cache.documents(),
  });
}

async function rootOf(
  entry: string | ManifestText,
  files: Files,
  cwd: string,
  given: string | undefined,
): Promise<string> {
  if (given !== undefined) return resolve(cwd, given);
  const folder = typeof entry === 'string' ? resolve(entry, '..') : resolve(cwd, entry.folder);
  return (await findProjectRoot(folder, files)) ?? (isInside(folder, cwd) ? cwd : folder);
}

/** From top to bottom in each file, files in the order in which they were first heard of. */
function inOrder(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  const files = new Map<string, number>();
  for (const { file } of diagnostics) if (!files.has(file)) files.set(file, files.size);
  const rank = ({ file }: Diagnostic) => files.get(file) ?? 0;
  return diagnostics.toSorted(
    (a, b) => rank(a) - rank(b) || (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0),
  );
}

/** A file that two projects share is reported once. */
function distinct(diagnostics: readonly Diagnostic[]): Diagnostic[] {
  const seen = new Map<string, Diagnostic>();
  for (const each of diagnostics) {
    const key = JSON.stringify([each.file, each.line, each.column, each.code, each.message]);
    if (!seen.has(key)) seen.set(key, each);
  }
  return [...seen.values()];
}
