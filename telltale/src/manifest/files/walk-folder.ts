import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { MANIFEST_LIMITS } from '../diagnostic.ts';

const SKIPPED: ReadonlySet<string> = new Set(['node_modules']);
/** The file names that a scan examines. */
export const MANIFEST_FILE = /\.(?:ya?ml|json)$/i;
const AGENT = /^(?:---[ \t]+)?["']?kind["']?[ \t]*:[ \t]*["']?Agent\b|"kind"\s*:\s*"Agent"/m;

/** Whether the text of such a file contains an agent. */
export const looksLikeAgent = (text: string): boolean => AGENT.test(text);

export interface WalkFolderWalked {
  /** YAML and JSON files, absolute, sorted folder by folder. */
  readonly files: readonly string[];
  /** Whether the walk stopped at its limit. */
  readonly cut: boolean;
  /** Folders that could not be read. */
  readonly denied: readonly string[];
}

/** A folder that has not been read yet. */
interface WalkFolderWaiting {
  readonly path: string;
  readonly depth: number;
  /** Its share of the walk: that of its parent folder, divided by the number of entries there. */
  readonly share: number;
}

/**
 * The YAML and JSON files below a folder, without node_modules, names that start with a dot, and symbolic links. A
 * folder with few siblings comes first, so a folder full of files, which an agent may have created, cannot hide the
 * others.
 */
export async function walkFolder(
  folder: string,
  signal?: AbortSignal,
  limit: number = MANIFEST_LIMITS.walkEntries,
): Promise<WalkFolderWalked> {
  const found: { readonly path: string; readonly files: readonly string[] }[] = [];
  const denied: string[] = [];
  let waiting: readonly WalkFolderWaiting[] = [{ path: folder, depth: 0, share: 1 }];
  let left = limit;
  let cut = false;
  while (waiting.length > 0) {
    const least = waiting.reduce((most, { share }) => Math.max(most, share), 0) / 2;
    const next = waiting.filter(({ share }) => share > least);
    const later: WalkFolderWaiting[] = waiting.filter(({ share }) => share <= least);
    for (const { path, depth, share } of next) {
      signal?.throwIfAborted();
      const entries: Dirent[] | undefined = await readdir(path, { withFileTypes: true }).catch(
        () => undefined,
      );
      if (entries === undefined) {
        denied.push(path);
        continue;
      }
      if (entries.length > left) {
        cut = true;
        continue;
      }
      left -= entries.length;
      const shown = entries.filter(({ name }) => !name.startsWith('.') && !SKIPPED.has(name));
      const files = shown.filter((entry) => entry.isFile() && MANIFEST_FILE.test(entry.name));
      found.push({ path, files: files.map(({ name }) => name).sort() });
      if (depth === MANIFEST_LIMITS.walkDepth) continue;
      for (const entry of shown)
        if (entry.isDirectory())
          later.push({ path: join(path, entry.name), depth: depth + 1, share: share / entries.length });
    }
    waiting = later;
  }
  found.sort((one, other) => compareFolders(one.path, other.path));
  const files = found.flatMap(({ path, files: names }) => names.map((name) => join(path, name)));
  return { files, cut, denied };
}

/** Orders a folder before the folders in it, and those by name. */
function compareFolders(one: string, other: string): number {
  const [left, right] = [one.split(sep), other.split(sep)];
  const at = left.findIndex((name, index) => name !== right[index]);
  if (at === -1) return left.length - right.length;
  const [name = '', against] = [left[at], right[at]];
  return against === undefined || name > against ? 1 : -1;
}
