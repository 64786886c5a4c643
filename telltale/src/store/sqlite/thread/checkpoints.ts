import type { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { builtFile } from '../../../lib/built-file.ts';
import type { ThreadSettings } from '../open-sqlite-store.ts';
import type { FileIdentity } from './examine-file.ts';
import { ASKED, type CheckpointerSettings, ENDED, ENDING, RESTING } from './serve-checkpoints.ts';

/**
 * Of a new file; one that is there keeps its own. A page is two writes to the WAL: with SQLite's 4 KiB a step of a hundred
 * sessions took 83 µs, with 8 KiB 75. Larger ones save little more, and a lone append writes two pages whatever its size.
 */
export const PAGE_BYTES = 8192;

/** Bytes in the WAL, about, from which a pause is used to bring them into the file. */
const WORTHWHILE = 1024 * 1024;
/**
 * From which no pause is waited for. While the WAL's file grows a commit takes twice as long (350 against 180 µs
 * measured: the new size has to be on disk, too), and it grows until the first checkpoint.
 */
const OVERDUE = 4 * 1024 * 1024;
const PAUSE_MS = 50;
/** A page of the heads and one of the log, even for a small append. */
const BYTES_A_COMMIT = 2 * PAGE_BYTES;
/**
 * What came while another thread made a checkpoint is brought over by this one, if it is no more than this: the WAL can
 * begin anew only when all of it is in the file and nothing is being added.
 */
const LITTLE = 512 * 1024;
/** If so many times in a row more came than that, the disk is the limit, and commits have to wait for it. */
const MOST_ROUNDS = 4;
/** The WAL gets no longer than about this: then commits wait for the other thread, and for the rest. */
const LONGEST = 32 * 1024 * 1024;

/** Brings the WAL into the file when nobody waits for a commit: the work of a thousand pages is ten milliseconds. */
export interface Checkpoints {
  committed(chars: number): void;
  stop(): void;
}

export interface CheckpointOptions {
  /** For those whose commits nobody waits for: a large one saves writing the same pages again and again. */
  readonly overdue?: number;
  /** Makes them in another thread while commits leave no pause. Started when that is first so. */
  readonly beside?: () => Checkpointer;
}

export function createCheckpoints(
  db: DatabaseSync,
  { overdue = OVERDUE, beside }: CheckpointOptions = {},
): Checkpoints {
  const checkpoint = db.prepare('PRAGMA wal_checkpoint(PASSIVE)');
  let bytes = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let other: Checkpointer | undefined;
  /** How often the other thread was asked since the WAL began anew, and for how much. */
  let rounds = 0;
  let asked = 0;

  const run = () => {
    clearTimeout(timer);
    timer = undefined;
    bytes = 0;
    rounds = 0;
    asked = 0;
    try {
      checkpoint.get();
    } catch (error) {
      // What is committed stays in the WAL, and the next attempt goes on from there. A disk that stays full shows at
      // the next commit, where somebody waits for it.
      if (!(error instanceof Error && 'errcode' in error)) throw error;
    }
  };

  const pause = () => {
    timer = undefined;
    if (rounds > 0 && other?.isReady() === false) inAPause();
    else run();
  };
  const inAPause = () => {
    if (timer === undefined) timer = setTimeout(pause, PAUSE_MS);
    else timer.refresh();
  };

  const start = (): Checkpointer | undefined => {
    try {
      return beside?.();
    } catch (error) {
      // No more threads are allowed here, or there is no memory for one: it is tried again when it is next wanted.
      if (error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_INIT_FAILED')
        return undefined;
      throw error;
    }
  };

  /** Whether the other thread is at it, or was asked to be. */
  const isDoneBeside = (): boolean => {
    other ??= start();
    const isReady = other?.isReady();
    if (other === undefined || isReady === undefined) return false;
    if (!isReady) {
      if (rounds === 0) return false; // it is starting
      if (asked + bytes < LONGEST) return true;
      other.wait();
    }
    if (rounds > 0 && (bytes <= LITTLE || rounds === MOST_ROUNDS || asked + bytes >= LONGEST)) return false;
    rounds += 1;
    asked += bytes;
    bytes = 0;
    other.ask();
    return true;
  };

  return {
    committed(chars) {
      bytes += chars + BYTES_A_COMMIT;
      if (rounds === 0 && bytes < WORTHWHILE) return;
      if (rounds === 0 && bytes < overdue) inAPause();
      else if (isDoneBeside()) inAPause();
      else run();
    },
    stop() {
      clearTimeout(timer);
      other?.end();
    },
  };
}

const FILE = builtFile(new URL('./checkpointer.ts', import.meta.url));
/** How long a checkpoint under way is waited for, in which nothing else is done. */
const LONGEST_WAIT_MS = 10_000;

/** Makes checkpoints beside the store's thread, which goes on committing meanwhile. */
export interface Checkpointer {
  /** Whether it can be asked now; undefined where it never will be again. */
  isReady(): boolean | undefined;
  ask(): void;
  /** Blocks until the one under way is done, for ten seconds at most. */
  wait(): void;
  /** Blocks until it has closed the file, for ten seconds at most. */
  end(): void;
}

export function startCheckpointer(
  { path, durability }: Pick<ThreadSettings, 'path' | 'durability'>,
  file: FileIdentity,
): Checkpointer {
  const stage = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const worker = new Worker(FILE, {
    name: 'telltale-checkpoint',
    workerData: { path, durability, file, stage } satisfies CheckpointerSettings,
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  worker.unref();
  // The store does without it: its own thread makes the checkpoints then.
  worker.on('error', () => Atomics.store(stage, 0, ENDED));
  worker.on('exit', () => Atomics.store(stage, 0, ENDED));
  /** Whoever is woken looks whether it is time: a word for another may have woken him. */
  const waitWhile = (at: number) => {
    const until = performance.now() + LONGEST_WAIT_MS;
    for (
      let left = LONGEST_WAIT_MS;
      left > 0 && Atomics.load(stage, 0) === at;
      left = until - performance.now()
    )
      Atomics.wait(stage, 0, at, left);
  };
  return {
    isReady() {
      const now = Atomics.load(stage, 0);
      return now === ENDED ? undefined : now === RESTING;
    },
    ask() {
      if (Atomics.compareExchange(stage, 0, RESTING, ASKED) === RESTING) Atomics.notify(stage, 0);
    },
    wait: () => waitWhile(ASKED),
    end() {
      for (;;) {
        const now = Atomics.load(stage, 0);
        if (now === ENDED) return;
        if (Atomics.compareExchange(stage, 0, now, ENDING) === now) break;
      }
      Atomics.notify(stage, 0);
      waitWhile(ENDING);
    },
  };
}
