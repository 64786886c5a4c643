import { availableParallelism } from 'node:os';
import type { Clock } from '../../lib/clock.ts';
import type { RuntimeError } from '../../lib/errors.ts';
import { abortError } from '../abort.ts';
import { outputTooLarge } from '../output/output.ts';
import type { RunRequest } from './messages.ts';
import type { Sandbox, SandboxJob } from './sandbox.ts';
import { noThread, sandboxBusy, sandboxClosed, scriptFailure, scriptMemory } from './sandbox.ts';
import { type SandboxThread, type ScriptResult, startSandboxThread } from './sandbox-thread.ts';

/** At least two, so that one endless script does not block the others. */
const MIN_THREADS = 2;
const MAX_THREADS = 4;
const MAX_WAITING = 10_000;
/** Text takes several times its size, once in memory and again as values. */
const MEMORY_FOR_INPUT = 1 / 4;
const SEEDS = 2 ** 53;

interface WaitingJob {
  start(thread: SandboxThread): void;
  refuse(): void;
}

/**
 * Creates a sandbox with a pool of threads. A thread is started when a script needs one and all others are busy. A
 * script never runs on the calling thread, because the engine checks its time only every ten thousand steps, and a
 * single step can take seconds (`JSON.stringify` of a list that contains one list many times takes more than ten at 1
 * MiB). But most scripts take less time than a message to a thread and back. So the caller blocks for the answer for a
 * short, bounded time, and a script that takes longer continues asynchronously.
 */
export function createSandbox({ clock }: { readonly clock: Clock }): Sandbox {
  const maxThreads = Math.max(MIN_THREADS, Math.min(MAX_THREADS, availableParallelism()));
  const threads = new Set<SandboxThread>();
  const idle: SandboxThread[] = [];
  const waiting: WaitingJob[] = [];
  const waitBudget = createWaitBudget();
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
  const release = (thread: SandboxThread) => {
    if (thread.isAlive) idle.push(thread);
    else threads.delete(thread);
    while (waiting.length > 0 && !isClosed) {
      const free = freeThread();
      if (free === undefined) return;
      waiting.shift()?.start(free);
    }
  };
  /** Resolves with a thread that belongs to this job until it is released. */
  const acquireThread = (job: SandboxJob): Promise<SandboxThread> => {
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
      const onAbort = () => leave(abortError(what, signal));
      const disarm =
        waitMs === undefined ? undefined : clock.after(waitMs, () => leave(noThread(what, waitMs)));
      const forget = () => {
        disarm?.();
        signal.removeEventListener('abort', onAbort);
      };
      const entry: WaitingJob = {
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

  /** Runs the job on an idle thread and returns its result, if it comes quickly. */
  const answerNow = (
    job: SandboxJob,
    request: RunRequest,
  ): ScriptResult | Promise<ScriptResult> | undefined => {
    const waitMs = waitBudget.forScript(job.module ?? job.source);
    const thread = idle.at(-1);
    if (waitMs <= 0 || thread?.isReady !== true) return undefined;
    idle.pop();
    const began = performance.now();
    const ended = thread.tryNow(job, request, waitMs);
    waitBudget.spend(performance.now() - began);
    if (ended === undefined) return finish(job, thread, thread.ended());
    release(thread);
    return ended;
  };
  const answerLater = async (job: SandboxJob, request: RunRequest): Promise<ScriptResult> => {
    const thread = await acquireThread(job);
    return finish(job, thread, thread.run(job, request));
  };
  const finish = async (
    job: SandboxJob,
    thread: SandboxThread,
    ending: Promise<ScriptResult>,
  ): Promise<ScriptResult> => {
    try {
      const ended = await ending;
      waitBudget.record(job.module ?? job.source, ended.ms);
      return ended;
    } finally {
      release(thread);
    }
  };

  return {
    async run(job) {
      const { signal, what, limits } = job;
      if (signal.aborted) throw abortError(what, signal);
      if (isClosed) throw sandboxClosed(what);
      const request = requestOf(job, ++ids);
      const { outcome, ms } = await (answerNow(job, request) ?? answerLater(job, request));
      job.onTime?.(ms);
      if (signal.aborted) throw abortError(what, signal);
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

/** How long all scripts together may block a caller within one turn of its event loop. */
const MOST_MS = 3;
/** The most scripts remembered as slow. The oldest is dropped first. */
const MAX_SLOW = 256;

/** Decides which scripts the caller blocks for. */
export interface WaitBudget {
  /** Milliseconds to wait. 0 if the caller should not block. */
  forScript(source: string): number;
  /** Records how long the caller was blocked. */
  spend(ms: number): void;
  /** Records how long a script took that the caller did not block for until its end. */
  record(source: string, ms: number): void;
}

/**
 * Limits blocking to MOST_MS per turn of the event loop, however many scripts run. A script that took longer is not
 * waited for again until it has been quick once, because a busy machine may have been the cause.
 */
export function createWaitBudget(): WaitBudget {
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
    record(source, ms) {
      slow.delete(source);
      if (ms <= MOST_MS) return;
      const [first] = slow;
      if (slow.size >= MAX_SLOW && first !== undefined) slow.delete(first);
      slow.add(source);
    },
  };
}
