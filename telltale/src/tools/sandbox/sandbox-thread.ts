import { MessageChannel, receiveMessageOnPort, Worker } from 'node:worker_threads';
import { builtFile } from '../../lib/built-file.ts';
import type { Clock } from '../../lib/clock.ts';
import { RuntimeError } from '../../lib/errors.ts';
import {
  ASKED,
  CELLS,
  IN_BUFFER,
  LEFT,
  POSTED,
  type PostedRequest,
  REQUEST,
  type RunRequest,
  STATE,
  STOP,
  type TextNumbers,
  type ThreadData,
  type ThreadMessage,
  WAITED_FOR,
} from './messages.ts';
import { type SandboxJob, type SandboxOutcome, sandboxClosed, sandboxEnded } from './sandbox.ts';
import { openSharedBuffer, SHARED_BUFFER_BYTES } from './shared-buffer.ts';

/** How a script ended, and how long it took in its thread. */
export interface ScriptResult {
  readonly outcome: SandboxOutcome;
  readonly ms: number;
}

/** A thread that runs one script at a time. */
export interface SandboxThread {
  /** False once it has ended, for whatever reason. */
  readonly isAlive: boolean;
  /** False while it is starting. */
  readonly isReady: boolean;
  /**
   * Sends the script to a ready thread and blocks the calling thread for at most `waitMs`. The thread's clock decides,
   * whatever the script does. Undefined if the script is still running. Then `ended` returns its result.
   */
  tryNow(job: SandboxJob, request: RunRequest, waitMs: number): ScriptResult | undefined;
  /**
   * Waits for a script started by `tryNow`. Rejects only if the thread ends. Aborting the signal ends the script as
   * `interrupted`.
   */
  ended(): Promise<ScriptResult>;
  /** Sends the script once the thread is ready, and waits without blocking. */
  run(job: SandboxJob, request: RunRequest): Promise<ScriptResult>;
  end(): Promise<void>;
}

const FILE = builtFile(new URL('./thread/worker.ts', import.meta.url));
/** The engine checks its time between steps. If one step takes this much longer, the thread is terminated. */
const HARD_GRACE_MS = 1_000;

export function startSandboxThread(clock: Clock): SandboxThread {
  const cells = new Int32Array(new SharedArrayBuffer(CELLS * Int32Array.BYTES_PER_ELEMENT));
  const memory = new SharedArrayBuffer(SHARED_BUFFER_BYTES);
  const box = openSharedBuffer(memory);
  const texts = createKnownTexts();
  const { port1: port, port2: theirs } = new MessageChannel();
  const worker = new Worker(FILE, {
    name: 'telltale-sandbox',
    workerData: { cells, buffer: memory, port: theirs } satisfies ThreadData,
    transferList: [theirs],
    env: {},
    execArgv: ['--disable-warning=ExperimentalWarning'],
    resourceLimits: { maxOldGenerationSizeMb: 256 },
  });
  let isAlive = true;
  let isReady = false;
  let isClosed = false;
  let job: SandboxJob | undefined;
  let id = 0;
  let settle: ((ended: ScriptResult | RuntimeError) => void) | undefined;
  let failure: unknown;
  let becameReady = () => {};
  const ready = new Promise<void>((resolve) => {
    becameReady = resolve;
  });

  /** The result of the present script, if the message contains it. */
  const hear = (message: ThreadMessage): ScriptResult | undefined => {
    if (message.kind === 'ready') {
      isReady = true;
      becameReady();
    } else if (message.id === id) {
      if (message.kind === 'done') return { outcome: message.outcome, ms: message.ms };
      job?.onLog?.(message.text);
    }
    return undefined;
  };
  port.on('message', (message: ThreadMessage) => {
    const ended = hear(message);
    if (ended !== undefined) settle?.(ended);
  });
  port.unref();
  worker.on('error', (error: unknown) => {
    failure = error;
  });
  worker.on('exit', () => {
    isAlive = false;
    port.close();
    becameReady();
    settle?.(sandboxEnded(job?.what ?? '', failure));
  });
  worker.unref();

  const give = (next: SandboxJob, request: RunRequest, state: typeof WAITED_FOR | typeof LEFT): void => {
    job = next;
    id = request.id;
    const isInBox = box.putRequest(request, numbersOf(request, texts.numberOf));
    if (!isInBox)
      port.postMessage({ request, numbers: numbersOf(request, texts.learn) } satisfies PostedRequest);
    Atomics.store(cells, STOP, 0);
    Atomics.store(cells, STATE, state);
    Atomics.store(cells, REQUEST, isInBox ? IN_BUFFER : POSTED);
    Atomics.add(cells, ASKED, 1);
    Atomics.notify(cells, ASKED);
  };
  const ended = async (): Promise<ScriptResult> => {
    const { signal, limits } = job as SandboxJob;
    const onAbort = () => void Atomics.store(cells, STOP, 1);
    worker.ref();
    const cancelTimer = clock.after(limits.timeMs + HARD_GRACE_MS, () => {
      settle?.({ outcome: { kind: 'interrupted' }, ms: limits.timeMs + HARD_GRACE_MS });
      isAlive = false;
      void worker.terminate();
    });
    try {
      return await new Promise<ScriptResult>((resolve, reject) => {
        settle = (end) => (end instanceof RuntimeError ? reject(end) : resolve(end));
        signal.addEventListener('abort', onAbort, { once: true });
        if (signal.aborted) onAbort();
      });
    } finally {
      cancelTimer();
      signal.removeEventListener('abort', onAbort);
      settle = undefined;
      job = undefined;
      if (isAlive) worker.unref();
    }
  };

  return {
    get isAlive() {
      return isAlive;
    },
    get isReady() {
      return isReady && isAlive;
    },
    tryNow(next, request, waitMs) {
      give(next, request, WAITED_FOR);
      Atomics.wait(cells, STATE, WAITED_FOR, waitMs);
      const state = Atomics.compareExchange(cells, STATE, WAITED_FOR, LEFT);
      if (state === WAITED_FOR) return undefined;
      if (state === IN_BUFFER) {
        job = undefined;
        const { json, ms } = box.takeResult();
        return { outcome: { kind: 'value', json }, ms };
      }
      // Messages from its console come before its answer.
      for (let got = receiveMessageOnPort(port); got !== undefined; got = receiveMessageOnPort(port)) {
        const end = hear(got.message as ThreadMessage);
        if (end === undefined) continue;
        job = undefined;
        return end;
      }
      return undefined;
    },
    ended,
    async run(next, request) {
      worker.ref();
      await ready;
      if (!isAlive) throw isClosed ? sandboxClosed(next.what) : sandboxEnded(next.what, failure);
      give(next, request, LEFT);
      return ended();
    },
    async end() {
      isAlive = false;
      isClosed = true;
      settle?.(sandboxClosed(job?.what ?? ''));
      await worker.terminate();
    },
  };
}

/** The most texts a thread stores. The least recently used one is replaced first. */
export const MAX_TEXTS = 256;
/** Longer texts, in characters, are sent each time. */
const MAX_TEXT = 64 * 1024;

/** The texts a thread has received, and the numbers it stores them under. */
export interface KnownTexts {
  numberOf(text: string): number | undefined;
  /** A number for a text that is about to be sent. Undefined if the text should not be stored. */
  learn(text: string): number | undefined;
}

export function createKnownTexts(): KnownTexts {
  /** Least recently used first. */
  const numbers = new Map<string, number>();
  const numberOf = (text: string): number | undefined => {
    const number = numbers.get(text);
    if (number === undefined) return undefined;
    numbers.delete(text);
    numbers.set(text, number);
    return number;
  };
  return {
    numberOf,
    learn(text) {
      if (text.length > MAX_TEXT) return undefined;
      const known = numberOf(text);
      if (known !== undefined) return known;
      const [oldest] = numbers;
      const isFull = numbers.size >= MAX_TEXTS && oldest !== undefined;
      const number = isFull ? oldest[1] : numbers.size;
      if (isFull) numbers.delete(oldest[0]);
      numbers.set(text, number);
      return number;
    },
  };
}

const numbersOf = (
  { source, module, frozen }: RunRequest,
  numberOf: (text: string) => number | undefined,
): TextNumbers => ({
  source: numberOf(source),
  module: module === undefined ? undefined : numberOf(module),
  frozen: numberOf(frozen),
});
