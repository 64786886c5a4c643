import { Worker } from 'node:worker_threads';
import { builtFile } from '../../../kernel/built-file.ts';
import type { ThreadSettings } from '../thread-settings.ts';
import { ASKED, type CheckpointerSettings, ENDED, ENDING, RESTING } from './serve-checkpoints.ts';

const FILE = builtFile(new URL('./checkpointer.ts', import.meta.url));
/** A checkpoint under way is waited for; one that hangs is left to end with the process. */
const LONGEST_END_MS = 10_000;

/** Makes checkpoints beside the store's thread, which goes on committing meanwhile. */
export interface Checkpointer {
  /** Whether it can be asked now; undefined where it never will be again. */
  isReady(): boolean | undefined;
  ask(): void;
  /** Blocks until the one under way is done. */
  wait(): void;
  /** Blocks until it has closed the file. */
  end(): void;
}

export function startCheckpointer({
  path,
  durability,
}: Pick<ThreadSettings, 'path' | 'durability'>): Checkpointer {
  const stage = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const worker = new Worker(FILE, {
    name: 'telltale-checkpoint',
    workerData: { path, durability, stage } satisfies CheckpointerSettings,
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  worker.unref();
  // The store does without it: its own thread makes the checkpoints then.
  worker.on('error', () => Atomics.store(stage, 0, ENDED));
  return {
    isReady() {
      const now = Atomics.load(stage, 0);
      return now === ENDED ? undefined : now === RESTING;
    },
    ask() {
      if (Atomics.compareExchange(stage, 0, RESTING, ASKED) === RESTING) Atomics.notify(stage, 0);
    },
    wait: () => void Atomics.wait(stage, 0, ASKED),
    end() {
      for (;;) {
        const now = Atomics.load(stage, 0);
        if (now === ENDED) return;
        if (Atomics.compareExchange(stage, 0, now, ENDING) === now) break;
      }
      Atomics.notify(stage, 0);
      Atomics.wait(stage, 0, ENDING, LONGEST_END_MS);
    },
  };
}
