import { Worker } from 'node:worker_threads';
import { builtFile } from '../../lib/built-file.ts';
import type { Clock } from '../../lib/clock.ts';
import type { ErrorJson } from '../../lib/errors.ts';
import type { FileRecord, GraphFile } from '../../store/graph.ts';
import { indexFailed } from '../memory.ts';
import { STUCK_MS } from './read-source.ts';
import type { ResolveContext } from './resolve/read-context.ts';

/** How a pass ended in the thread. */
export type PassEnd =
  | { readonly kind: 'ended' }
  /** The thread is gone. `path`: the file that was in hand. */
  | { readonly kind: 'died'; readonly path?: string; readonly began: boolean; readonly cause: unknown };

export interface IndexThread {
  readonly isAlive: boolean;
  /**
   * One at a time. `handle` gets messages in order, one after the other; the thread gets only so far ahead of it.
   * Rejects with what `handle` rejects with, or with why the thread cannot do it.
   */
  run(request: Omit<PassRequest, 'id'>, handle: (message: FromThread) => Promise<void>): Promise<PassEnd>;
  /** The pass in hand ends soon: what was read by then is still handed over. */
  stop(): void;
  end(): Promise<void>;
}

const FILE = builtFile(new URL('./thread/worker.ts', import.meta.url));
/** Of its heap. Grammars have memory of their own beside it. */
const MAX_HEAP_MB = 1024;

export function startIndexThread(parser: URL, clock: Clock): IndexThread {
  const cells = new Int32Array(new SharedArrayBuffer(CELLS * Int32Array.BYTES_PER_ELEMENT));
  const current = new Uint8Array(new SharedArrayBuffer(MAX_PATH_BYTES));
  const worker = new Worker(FILE, {
    name: 'telltale-index',
    workerData: { cells, current, parser: parser.href } satisfies IndexThreadData,
    execArgv: ['--disable-warning=ExperimentalWarning'],
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  });
  worker.unref();
  let isAlive = true;
  let passes = 0;
  let cause: unknown = 'it ended by itself';
  let heard: ((message: FromThread) => void) | undefined;
  let died: (() => void) | undefined;
  worker.on('message', (message: FromThread) => heard?.(message));
  worker.on('error', (error: unknown) => {
    cause = error;
  });
  worker.on('exit', () => {
    isAlive = false;
    died?.();
  });

  const pathInHand = (): string | undefined => {
    const bytes = Atomics.load(cells, PATH_BYTES);
    return bytes === 0 ? undefined : Buffer.from(current.slice(0, bytes)).toString('utf8');
  };
  const taken = () => {
    Atomics.add(cells, TAKEN, 1);
    Atomics.notify(cells, TAKEN);
  };
  const stop = () => {
    Atomics.store(cells, STOP, 1);
    Atomics.notify(cells, TAKEN);
  };
  /** Ends the thread where one file has held it for longer than any may. */
  const watch = (): (() => void) => {
    let step = -1;
    const look = () => {
      const now = Atomics.load(cells, STEP);
      if (now === step && pathInHand() !== undefined) {
        cause = `one file took more than ${STUCK_MS / 1000} s`;
        void worker.terminate();
        return;
      }
      step = now;
      cancel = clock.after(STUCK_MS, look);
    };
    let cancel = clock.after(STUCK_MS, look);
    return () => cancel();
  };

  return {
    get isAlive() {
      return isAlive;
    },
    async run(request, handle) {
      if (!isAlive) return { kind: 'died', began: false, cause };
      const id = ++passes;
      Atomics.store(cells, STOP, 0);
      Atomics.store(cells, PATH_BYTES, 0);
      worker.ref();
      const unwatch = watch();
      let began = false;
      let handled: Promise<void> = Promise.resolve();
      try {
        return await new Promise<PassEnd>((resolve, reject) => {
          died = () => {
            const path = pathInHand();
            const end = { kind: 'died', began, cause, ...(path === undefined ? {} : { path }) } as const;
            handled.then(() => resolve(end), reject);
          };
          heard = (message) => {
            if (message.id !== id) return;
            began = true;
            handled = handled.then(async () => {
              if (message.kind === 'ended') resolve({ kind: 'ended' });
              else if (message.kind === 'failed') reject(indexFailed(request.folder, message.error));
              else {
                await handle(message);
                if (message.kind === 'batch') taken();
              }
            });
            // What is still in hand there is of no use any more, and nobody is to wait for it.
            handled.catch((error: unknown) => {
              isAlive = false;
              void worker.terminate();
              reject(error);
            });
          };
          worker.postMessage({ ...request, id } satisfies PassRequest);
        });
      } finally {
        unwatch();
        heard = undefined;
        died = undefined;
        if (isAlive) worker.unref();
      }
    },
    stop,
    async end() {
      isAlive = false;
      await worker.terminate();
    },
  };
}

/** Cells of the memory that both sides share. */
export const STOP = 0;
/** Batches that the store has taken in. */
export const TAKEN = 1;
/** Goes up with each file that is begun, so that one sees whether the thread comes along. */
export const STEP = 2;
/** Bytes of the path in hand; 0 where there is none. */
export const PATH_BYTES = 3;
const CELLS = 4;
export const MAX_PATH_BYTES = 16 * 1024;

export interface IndexThreadData {
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

export interface IndexThreadKnownFile {
  readonly hash: string;
  readonly size: number;
  readonly mtimeMs: number;
  readonly readAtMs: number;
}

export function unpackFiles({ paths, hashes, numbers }: PackedFiles): Map<string, IndexThreadKnownFile> {
  const known = new Map<string, IndexThreadKnownFile>();
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
