import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { MANIFEST_LIMITS } from '../diagnostic.ts';

const SKIPPED: ReadonlySet<string> = new Set(['node_modules']);
/** The names of files that a scan looks into. */
export const MANIFEST_FILE = /\.(?:ya?ml|json)$/i;
const AGENT = /^(?:---[ \t]+)?["']?kind["']?[ \t]*:[ \t]*["']?Agent\b|"kind"\s*:\s*"Agent"/m;

/** Whether the text of such a file holds an agent. */
export const looksLikeAgent = (text: string): boolean => AGENT.test(text);

export interface WalkFolderWalked {
  /** YAML and JSON files, absolute, sorted folder by folder. */
  readonly files: readonly string[];
  /** Whether the walk ended at its limit. */
  readonly cut: boolean;
  /** Folders that may not be read. */
  readonly denied: readonly string[];
}

/** A folder that waits to be read. */
interface WalkFolderWaiting {
  readonly path: string;
  readonly depth: number;
  /** What part of the walk it may take: that of the folder it is in, divided by all that is there. */
  readonly share: number;
}

/**
 * YAML and JSON files below a folder. Left out: node_modules, what begins with a dot, and symbolic links. Folders among
 * few others come first, so that one folder full of files, which an agent may have made, hides no other one.
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

/** A folder before those in it, and these by their names. */
function compareFolders(one: string, other: string): number {
  const [left, right] = [one.split(sep), other.split(sep)];
  const at = left.findIndex((name, index) => name !== right[index]);
  if (at === -1) return left.length - right.length;
  const [name = '', against] = [left[at], right[at]];
  return against === undefined || name > against ? 1 : -1;
}
