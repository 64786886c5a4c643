import { availableParallelism } from 'node:os';
import type { Clock } from '../../lib/clock.ts';
import type { RuntimeError } from '../../lib/errors.ts';
import { outputTooLarge } from '../output/output.ts';
import { stopped } from '../stop-and-wait.ts';
import type { RunRequest } from './messages.ts';
import type { Sandbox, SandboxJob } from './sandbox.ts';
import { noThread, sandboxBusy, sandboxClosed, scriptFailure, scriptMemory } from './sandbox.ts';
import { type Ended, type SandboxThread, startSandboxThread } from './sandbox-thread.ts';

/** Two at least, so that one script that does not end leaves a way for others. */
const MIN_THREADS = 2;
const MAX_THREADS = 4;
const MAX_WAITING = 10_000;
/** Text in memory, and again as values, takes several times its size. */
const MEMORY_FOR_INPUT = 1 / 4;
const SEEDS = 2 ** 53;

interface SandboxWaiting {
  start(thread: SandboxThread): void;
  refuse(): void;
}

/**
 * Threads are started when the first script is run, and further ones while all are at work. A script never runs on the
 * calling thread: the engine looks at its time only every ten thousand steps, and one step can be a call that takes
 * seconds (`JSON.stringify` of a list that holds one list many times: more than ten, in 1 MiB). But most scripts take
 * less time than the way to a thread and back by two event loops, so the caller waits for the thread's answer where it
 * stands, for a bounded time; what takes longer goes on without it.
 */
export function createSandbox({ clock }: { readonly clock: Clock }): Sandbox {
  const maxThreads = Math.max(MIN_THREADS, Math.min(MAX_THREADS, availableParallelism()));
  const threads = new Set<SandboxThread>();
  const idle: SandboxThread[] = [];
  const waiting: SandboxWaiting[] = [];
  const patience = createPatience();
  let ids = 0;
  let isClosed = false;

  const freeThread = (): SandboxThread | undefined => {
    for (let thread = idle.pop(); thread !== undefined; thread = idle.pop()) {
      if (thread.isAlive) return thread;
      threads.delete(thread);
    }
    if (threads.size >= maxThreads) return undefined;
    const started = startSandboxThread(clock);
    threads.add(started);
    return started;
  };
  const giveBack = (thread: SandboxThread) => {
    if (thread.isAlive) idle.push(thread);
    else threads.delete(thread);
    while (waiting.length > 0 && !isClosed) {
      const free = freeThread();
      if (free === undefined) return;
      waiting.shift()?.start(free);
    }
  };
  /** Resolves with a thread that is this job's own until it is given back. */
  const takeThread = (job: SandboxJob): Promise<SandboxThread> => {
    const free = freeThread();
    if (free !== undefined) return Promise.resolve(free);
    if (waiting.length >= MAX_WAITING) return Promise.reject(sandboxBusy(waiting.length));
    return new Promise((resolve, reject) => {
      const { signal, what, waitMs } = job;
      const leave = (why: RuntimeError) => {
        waiting.splice(waiting.indexOf(entry), 1);
        forget();
        reject(why);
      };
      const onAbort = () => leave(stopped(what, signal));
      const disarm =
        waitMs === undefined ? undefined : clock.after(waitMs, () => leave(noThread(what, waitMs)));
      const forget = () => {
        disarm?.();
        signal.removeEventListener('abort', onAbort);
      };
      const entry: SandboxWaiting = {
        start(thread) {
          forget();
          resolve(thread);
        },
        refuse() {
          forget();
          reject(sandboxClosed(what));
        },
      };
      signal.addEventListener('abort', onAbort, { once: true });
      waiting.push(entry);
    });
  };

  /** The answer of a thread that stands ready, if it comes at once. */
  const answerNow = (job: SandboxJob, request: RunRequest): Ended | Promise<Ended> | undefined => {
    const waitMs = patience.forScript(job.module ?? job.source);
    const thread = idle.at(-1);
    if (waitMs <= 0 || thread?.isReady !== true) return undefined;
    idle.pop();
    const began = performance.now();
    const ended = thread.tryNow(job, request, waitMs);
    patience.spend(performance.now() - began);
    if (ended === undefined) return finish(job, thread, thread.ended());
    giveBack(thread);
    return ended;
  };
  const answerLater = async (job: SandboxJob, request: RunRequest): Promise<Ended> => {
    const thread = await takeThread(job);
    return finish(job, thread, thread.run(job, request));
  };
  const finish = async (job: SandboxJob, thread: SandboxThread, ending: Promise<Ended>): Promise<Ended> => {
    try {
      const ended = await ending;
      patience.took(job.module ?? job.source, ended.ms);
      return ended;
    } finally {
      giveBack(thread);
    }
  };

  return {
    async run(job) {
      const { signal, what, limits } = job;
      if (signal.aborted) throw stopped(what, signal);
      if (isClosed) throw sandboxClosed(what);
      const request = requestOf(job, ++ids);
      const { outcome, ms } = await (answerNow(job, request) ?? answerLater(job, request));
      job.onTime?.(ms);
      if (signal.aborted) throw stopped(what, signal);
      if (outcome.kind !== 'value') throw scriptFailure(job, outcome);
      if (Buffer.byteLength(outcome.json) > limits.outputBytes)
        throw outputTooLarge(what, limits.outputBytes);
      return outcome.json;
    },
    warm() {
      const thread = isClosed || threads.size > 0 ? undefined : freeThread();
      if (thread !== undefined) idle.push(thread);
    },
    async close() {
      isClosed = true;
      for (const entry of waiting.splice(0)) entry.refuse();
      await Promise.all([...threads].map((thread) => thread.end()));
      threads.clear();
    },
  };
}

function requestOf(job: SandboxJob, id: number): RunRequest {
  const { what, source, module, frozen, limits, now, seed = Math.floor(Math.random() * SEEDS), onLog } = job;
  const globals = JSON.stringify(job.globals);
  if (globals.length > limits.memoryBytes * MEMORY_FOR_INPUT) throw scriptMemory(what, limits.memoryBytes);
  return {
    id,
    source,
    module,
    globals,
    frozen: JSON.stringify(frozen ?? []),
    ...limits,
    now,
    seed,
    logs: onLog !== undefined,
  };
}

/** How long a caller is held in one turn of its event loop, by all scripts together. */
const MOST_MS = 3;
/** Scripts that are known to take longer; the one that was found out first goes. */
const MAX_SLOW = 256;

/** Says which scripts are waited for where the caller stands. */
export interface SandboxPatience {
  /** Milliseconds; 0 where it is not to be waited for. */
  forScript(source: string): number;
  /** What was waited. */
  spend(ms: number): void;
  /** What a script took in its thread that was not waited for to its end. */
  took(source: string, ms: number): void;
}

/**
 * However many scripts are run, and whatever they do, the event loop gets its turn after MOST_MS. A script that took
 * longer once is not waited for again, until it has been seen to be quick: a busy machine is no fault of its own.
 */
export function createPatience(): SandboxPatience {
  const slow = new Set<string>();
  let left = MOST_MS;
  let isSpending = false;
  const renew = () => {
    left = MOST_MS;
    isSpending = false;
  };
  return {
    forScript: (source) => (slow.size > 0 && slow.has(source) ? 0 : left),
    spend(ms) {
      left = Math.max(0, left - ms);
      if (isSpending) return;
      isSpending = true;
      setImmediate(renew).unref();
    },
    took(source, ms) {
      slow.delete(source);
      if (ms <= MOST_MS) return;
      const [first] = slow;
      if (slow.size >= MAX_SLOW && first !== undefined) slow.delete(first);
      slow.add(source);
    },
  };
}
