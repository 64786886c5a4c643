import type { Dirent } from 'node:fs';
import { opendir } from 'node:fs/promises';
import { join } from 'node:path';
import type { PermittedPath } from '../../access/permitted-paths.ts';
import { stopped } from '../../access/stopped.ts';
import { fileFailed } from './file-errors.ts';

/** Folders that nobody wants to read through. */
const SKIPPED_FOLDERS: ReadonlySet<string> = new Set(['.git', 'node_modules']);
/** Entries that one call comes across. */
export const MAX_WALKED = 100_000;

export interface Walked {
  readonly real: string;
  /** As results name it. */
  readonly shown: string;
  readonly name: string;
  readonly type: 'file' | 'folder' | 'link' | 'other';
  readonly depth: number;
}

/**
 * What is below a folder, in order, folders before what is in them. Links are named and never followed, so the walk
 * stays inside and ends; what may not be touched is left out.
 */
export async function* walk(
  folder: PermittedPath,
  { maxDepth, signal }: { readonly maxDepth: number; readonly signal: AbortSignal },
): AsyncGenerator<Walked> {
  const waiting: Walked[] = await entriesOf(folder, 1);
  while (true) {
    const next = waiting.pop();
    if (next === undefined) return;
    if (signal.aborted) throw stopped('tool "filesystem"', signal);
    if (!folder.covers(next.real)) continue;
    yield next;
    if (next.type !== 'folder' || next.depth >= maxDepth || SKIPPED_FOLDERS.has(next.name)) continue;
    // A folder that may not be read, or has gone, is one that shows nothing.
    waiting.push(...(await entriesOf(next, next.depth + 1).catch(() => [])));
  }
}

/** In reverse order: the walk takes them from the end. */
async function entriesOf(
  { real, shown }: { readonly real: string; readonly shown: string },
  depth: number,
): Promise<Walked[]> {
  const entries: Dirent[] = [];
  try {
    for await (const entry of await opendir(real)) {
      if (entries.length === MAX_WALKED) break;
      entries.push(entry);
    }
  } catch (thrown) {
    throw fileFailed(shown, thrown);
  }
  entries.sort((a, b) => (a.name < b.name ? 1 : -1));
  return entries.map((entry) => ({
    real: join(real, entry.name),
    shown: shown === '.' ? entry.name : `${shown}/${entry.name}`,
    name: entry.name,
    type: typeOf(entry),
    depth,
  }));
}

function typeOf(entry: Dirent): Walked['type'] {
  if (entry.isSymbolicLink()) return 'link';
  if (entry.isDirectory()) return 'folder';
  return entry.isFile() ? 'file' : 'other';
}
