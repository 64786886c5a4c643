import type { Language } from '../../parsed-file.ts';
import { RACY_MS } from '../limits.ts';
import type { KnownFile, PassRequest } from '../messages.ts';
import { isWithin } from '../resolve/paths.ts';
import { type Walked, type WalkedFile, walk } from '../walk.ts';

export type LanguageOf = (path: string) => Language | undefined;

export interface LookedOver {
  readonly walked: Walked;
  readonly seen: number;
  /** New files, and those that may have changed. */
  readonly toRead: readonly WalkedFile[];
  readonly removed: readonly string[];
}

/** Compares a folder with what is known of it, by sizes and times alone. */
export function lookOver(
  { folder, below, byName, staleBeforeMs }: PassRequest,
  known: ReadonlyMap<string, KnownFile>,
  languageOf: LanguageOf,
  edges: { isStopped(): boolean; seen(seen: number, toRead: number): void },
): LookedOver {
  const named = new Set(byName);
  const seen = new Set<string>();
  const toRead: WalkedFile[] = [];
  const walked = walk(folder, below, {
    // What was taken by name once is looked at from then on: facts hold as long as it stays the same.
    wanted: (path) => languageOf(path) !== undefined || known.has(path) || named.has(path),
    found(file) {
      if (seen.has(file.path)) return;
      seen.add(file.path);
      const before = known.get(file.path);
      if (before === undefined || !isSettled(file, before) || before.readAtMs < staleBeforeMs)
        toRead.push(file);
      edges.seen(seen.size, toRead.length);
    },
    isStopped: edges.isStopped,
  });
  const removed: string[] = [];
  if (walked.isWhole)
    for (const path of known.keys()) {
      if (seen.has(path) || !below.some((folderOf) => isWithin(path, folderOf))) continue;
      if (!walked.unreadable.some((folderOf) => isWithin(path, folderOf))) removed.push(path);
    }
  return { walked, seen: seen.size, toRead, removed };
}

/** Whether size and time say that it is what it was when it was read. */
const isSettled = (file: WalkedFile, { size, mtimeMs, readAtMs }: KnownFile): boolean =>
  file.size === size && file.mtimeMs === mtimeMs && mtimeMs < readAtMs - RACY_MS;
