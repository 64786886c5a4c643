import type { ErrorJson } from '../../kernel/runtime-error.ts';
import type { FileRecord, GraphFile } from '../../store/graph.ts';
import type { ResolveContext } from './resolve/resolve-context.ts';

/** Cells of the memory that both sides share. */
export const STOP = 0;
/** Batches that the store has taken in. */
export const TAKEN = 1;
/** Goes up with each file that is begun, so that one sees whether the thread comes along. */
export const STEP = 2;
/** Bytes of the path in hand; 0 where there is none. */
export const PATH_BYTES = 3;
export const CELLS = 4;
export const MAX_PATH_BYTES = 16 * 1024;

export interface ThreadData {
  readonly cells: Int32Array;
  /** The file in hand: what is to blame where the thread ends in the middle of it. */
  readonly current: Uint8Array;
  /** The module with `createSourceParser`. */
  readonly parser: string;
}

export interface PassRequest {
  readonly id: number;
  /** Absolute. */
  readonly folder: string;
  /** Where to look: `['']` for everywhere. */
  readonly below: readonly string[];
  /** Of these the name is taken although no language is known. */
  readonly byName: readonly string[];
  readonly known: PackedFiles;
  /** What was read before is to be read anew, though it is the same: it was read in another way. */
  readonly staleBeforeMs: number;
  /** Files that have ended a thread before. */
  readonly avoid: readonly string[];
}

/** Known files, in a form that goes to another thread quickly: 5,000 objects take 5 ms to be copied, this 0.5 ms. */
export interface PackedFiles {
  /** With a NUL between them, which no path has. */
  readonly paths: string;
  readonly hashes: string;
  /** size, mtimeMs and readAtMs of each. */
  readonly numbers: Float64Array;
}

export type FromThread =
  | { readonly kind: 'seen'; readonly id: number; readonly seen: number; readonly toRead: number }
  | ({ readonly kind: 'walked'; readonly id: number } & WalkReport)
  | ({ readonly kind: 'batch'; readonly id: number } & ReadBatch)
  | { readonly kind: 'ended'; readonly id: number }
  /** It cannot go on, and no file is to blame. */
  | { readonly kind: 'failed'; readonly id: number; readonly error: ErrorJson };

export interface WalkReport {
  readonly seen: number;
  readonly toRead: number;
  /** Of them, those that are new. */
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly unreadable: number;
  readonly stopped?: string;
  /** How imports are written here; only where all was looked at. */
  readonly context?: ResolveContext;
}

export interface ReadBatch {
  readonly records: readonly FileRecord[];
  readonly touched: readonly GraphFile[];
  /** They were there when the folder was walked. */
  readonly gone: readonly string[];
  /** Files looked into, whatever came of it. */
  readonly read: number;
  readonly unreadable: number;
}

export function packFiles(files: Iterable<GraphFile>, count: number): PackedFiles {
  const paths: string[] = [];
  const hashes: string[] = [];
  const numbers = new Float64Array(count * 3);
  let at = 0;
  for (const { path, hash, size, mtimeMs, readAtMs } of files) {
    paths.push(path);
    hashes.push(hash);
    numbers[at++] = size;
    numbers[at++] = mtimeMs;
    numbers[at++] = readAtMs;
  }
  return { paths: paths.join('\0'), hashes: hashes.join('\0'), numbers };
}

export interface KnownFile {
  readonly hash: string;
  readonly size: number;
  readonly mtimeMs: number;
  readonly readAtMs: number;
}

export function unpackFiles({ paths, hashes, numbers }: PackedFiles): Map<string, KnownFile> {
  const known = new Map<string, KnownFile>();
  if (numbers.length === 0) return known;
  const hash = hashes.split('\0');
  for (const [at, path] of paths.split('\0').entries())
    known.set(path, {
      hash: hash[at] ?? '',
      size: numbers[at * 3] ?? 0,
      mtimeMs: numbers[at * 3 + 1] ?? 0,
      readAtMs: numbers[at * 3 + 2] ?? 0,
    });
  return known;
}
