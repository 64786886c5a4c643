import { Worker } from 'node:worker_threads';
import type { Clock } from '../../kernel/clock.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { FromThread, Outcome, RunRequest, ThreadData } from './messages.ts';
import type { SandboxJob } from './sandbox.ts';
import { sandboxClosed, sandboxEnded } from './sandbox-errors.ts';

/** A thread that runs one script at a time. */
export interface SandboxThread {
  /** False once it has ended, for whatever reason. */
  readonly isAlive: boolean;
  /** Rejects only if the thread ends. A signal that is aborted ends the script as `interrupted`. */
  run(job: SandboxJob, request: RunRequest): Promise<Outcome>;
  end(): Promise<void>;
}

const SOURCE = new URL('./thread/worker.ts', import.meta.url);
/** Beside a compiled file there is a compiled worker. */
const FILE = import.meta.url.endsWith('.ts') ? SOURCE : new URL(SOURCE.href.replace(/\.ts$/, '.js'));
/** The engine looks at its time between steps; what holds it up longer than this ends with its thread. */
const HARD_GRACE_MS = 1_000;

export function startSandboxThread(clock: Clock): SandboxThread {
  const stop = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(FILE, {
    name: 'telltale-sandbox',
    workerData: { stop } satisfies ThreadData,
    env: {},
    execArgv: ['--disable-warning=ExperimentalWarning'],
    resourceLimits: { maxOldGenerationSizeMb: 256 },
  });
  let isAlive = true;
  let isClosed = false;
  let job: SandboxJob | undefined;
  let id = 0;
  let settle: ((outcome: Outcome | RuntimeError) => void) | undefined;
  let failure: unknown;
  let becameReady = () => {};
  const ready = new Promise<void>((resolve) => {
    becameReady = resolve;
  });

  worker.on('message', (message: FromThread) => {
    if (message.kind === 'ready') becameReady();
    else if (message.id !== id) return;
    else if (message.kind === 'log') job?.onLog?.(message.text);
    else settle?.(message.outcome);
  });
  worker.on('error', (error: unknown) => {
    failure = error;
  });
  worker.on('exit', () => {
    isAlive = false;
    becameReady();
    settle?.(sandboxEnded(job?.what ?? '', failure));
  });
  worker.unref();

  return {
    get isAlive() {
      return isAlive;
    },
    async run(next, request) {
      worker.ref();
      await ready;
      if (!isAlive) throw isClosed ? sandboxClosed(next.what) : sandboxEnded(next.what, failure);
      job = next;
      id = request.id;
      Atomics.store(stop, 0, 0);
      const onAbort = () => void Atomics.store(stop, 0, 1);
      const cancelTimer = clock.after(next.limits.timeMs + HARD_GRACE_MS, () => {
        settle?.({ kind: 'interrupted' });
        isAlive = false;
        void worker.terminate();
      });
      try {
        return await new Promise<Outcome>((resolve, reject) => {
          settle = (ended) => (ended instanceof RuntimeError ? reject(ended) : resolve(ended));
          next.signal.addEventListener('abort', onAbort, { once: true });
          if (next.signal.aborted) onAbort();
          worker.postMessage(request);
        });
      } finally {
        cancelTimer();
        next.signal.removeEventListener('abort', onAbort);
        settle = undefined;
        job = undefined;
        if (isAlive) worker.unref();
      }
    },
    async end() {
      isAlive = false;
      isClosed = true;
      settle?.(sandboxClosed(job?.what ?? ''));
      await worker.terminate();
    },
  };
}
