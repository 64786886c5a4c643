import { Worker } from 'node:worker_threads';
import { builtFile } from '../../kernel/built-file.ts';
import type { Clock } from '../../kernel/clock.ts';
import { indexFailed } from '../memory-errors.ts';
import { STUCK_MS } from './limits.ts';
import {
  CELLS,
  type FromThread,
  MAX_PATH_BYTES,
  PATH_BYTES,
  type PassRequest,
  STEP,
  STOP,
  TAKEN,
  type ThreadData,
} from './messages.ts';

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
    workerData: { cells, current, parser: parser.href } satisfies ThreadData,
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
