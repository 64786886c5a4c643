import { Worker } from 'node:worker_threads';
import { builtFile } from '../../../kernel/built-file.ts';
import type { ThreadSettings } from '../thread-settings.ts';
import type { FileIdentity } from './is-in-place.ts';
import { ASKED, type CheckpointerSettings, ENDED, ENDING, RESTING } from './serve-checkpoints.ts';

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
