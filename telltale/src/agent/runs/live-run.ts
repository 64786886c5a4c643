import { readRun } from '../../engine/read-run.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import type { Cause } from '../../log/event.ts';
import { decodeRunEvent } from '../../log/run-codec.ts';
import { isTurn, type RunEvent, type RunOrigin } from '../../log/run-event.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import type { Store } from '../../store/store.ts';
import { manualLimit } from '../triggers/concurrency-limit.ts';
import type { RunQueue } from '../triggers/run-queue.ts';
import { readInput } from './open-run.ts';
import type { RunAgentSource, RunsDeps } from './run-environment.ts';
import { chainTooLong, MAX_CHAIN, runCancelled, runFailed, runIdTaken } from './run-errors.ts';
import { RUN_CANCEL } from './run-messages.ts';
import { createQueuedRun, type RunListener, type RunRegistry } from './run-registry.ts';
import { isOver, type RunResult, type RunUsage, resultOf, type WorkflowRun } from './run-types.ts';

export interface LiveRunOptions {
  readonly onWaiting?: 'release' | 'hold' | undefined;
  readonly signal?: AbortSignal | undefined;
}

const STAY_MS = 3_600_000;

/**
 * The handle of a run that was dispatched, for whoever started it. `ready` resolves once its stream exists.
 */
export function createLiveRun(
  deps: RunsDeps & { readonly registry: RunRegistry },
  id: string,
  ready: Promise<void>,
  { onWaiting = 'release', signal }: LiveRunOptions,
): WorkflowRun {
  const { registry, store } = deps;
  const entry = registry.entry(id);
  let finish: (result: RunResult) => void = () => undefined;
  let refuse: (error: unknown) => void = () => undefined;
  const result = new Promise<RunResult>((resolve, reject) => {
    finish = resolve;
    refuse = reject;
  });
  result.catch(() => undefined); // a caller may read only events, so this is no unhandled rejection
  let begun = false;
  const listener: RunListener = {
    onEnd: finish,
    onWork() {
      begun = true;
    },
    onOwned(error) {
      if (begun) return; // another process continues it
      entry.listeners.delete(listener);
      refuse(error);
    },
    onWaiting(waiting) {
      if (isTurn(waiting.for)) stay();
      else if (onWaiting === 'release') finish({ run: id, status: 'waiting', waiting });
    },
    onError: refuse,
  };
  entry.listeners.add(listener);
  const abort = () => void cancel(reasonOf(signal?.reason)).catch(refuse);
  // A run that is held may wait for a message only. This timer keeps the process alive.
  let disarm: () => void = () => undefined;
  const stay = () => {
    disarm();
    disarm = deps.clock.after(STAY_MS, stay);
  };
  if (onWaiting === 'hold') stay();
  const leave = () => {
    disarm();
    entry.listeners.delete(listener);
    signal?.removeEventListener('abort', abort);
  };
  result.then(leave, leave);
  ready.catch(refuse);
  const cancel = async (reason: string) => {
    await ready;
    await cancelRun(deps, id, reason, 'user');
  };
  signal?.addEventListener('abort', abort, { once: true });
  if (signal?.aborted === true) abort();
  return {
    id,
    result,
    events: { [Symbol.asyncIterator]: () => followRun(store, id, ready, result) },
    subscribe(listener) {
      let ended = false;
      const read = async () => {
        // A run that cannot start rejects its result.
        const isThere = await ready.then(
          () => true,
          () => false,
        );
        if (!isThere) return;
        for await (const event of followRun(store, id, ready, result)) {
          if (ended) return;
          listener(event);
        }
      };
      read().catch(deps.onError);
      return () => {
        ended = true;
      };
    },
    async cancel(reason = 'asked to') {
      await cancel(reason);
      await result;
    },
    async interrupt() {
      // A suspended run is released already.
      if (entry.release === undefined) finish({ run: id, status: 'interrupted' });
      else entry.release();
      await result.catch(() => undefined);
    },
  };
}

const reasonOf = (reason: unknown): string =>
  reason instanceof RuntimeError || reason instanceof Error ? reason.message : String(reason);

/** Events read per page. */
const PAGE = 1_000;

/**
 * Yields every committed event of a run from the first one. Ends once `over` settles and everything has been
 * read.
 */
async function* followRun(
  store: Store,
  run: string,
  begun: Promise<unknown>,
  over: Promise<unknown>,
): AsyncGenerator<RunEvent, void> {
  await begun;
  let isOver = false;
  let wake: () => void = () => undefined;
  const end = () => {
    isOver = true;
    wake();
  };
  over.then(end, end);
  let moved = true;
  const forget = store.watch(run, () => {
    moved = true;
    wake();
  });
  try {
    for (let next = 1; ; ) {
      // Read this flag before the log, so that events committed meanwhile are read in the next round.
      const last = isOver;
      moved = false;
      const lines = await store.read(run, { from: next, limit: PAGE });
      for (const line of lines) yield decodeRunEvent(line, run);
      next += lines.length;
      if (lines.length === PAGE) continue;
      if (last) return;
      if (!moved && !isOver)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  } finally {
    forget();
  }
}

export interface CalledRun {
  /** The same for the same call, so the run is found again after a crash. */
  readonly id: string;
  readonly workflow: WorkflowManifest;
  readonly agentSource: RunAgentSource;
  readonly input: JsonObject;
  readonly origin: RunOrigin;
  readonly balance?: number | undefined;
  readonly cause: Cause | undefined;
  /** Ends the call. `isReleased` tells whether the run is only released, or cancelled with the call. */
  readonly signal: AbortSignal;
  readonly isReleased: () => boolean;
  /** Called when the run is suspended. The function that it returns is called when the run continues. */
  readonly onWaiting?: (waiting: { readonly for: string; readonly due?: number }) => () => void;
  /** Called once its stream exists. */
  readonly onMade?: () => void;
  /**
   * Called when the run has ended with some usage, before its caller continues. May be called again after a
   * crash.
   */
  readonly onUsed?: (used: RunUsage) => void;
}

/** Calls a workflow and waits for its end. A run that exists continues from where its log ends. */
export async function callRun(
  deps: RunsDeps & { readonly registry: RunRegistry; readonly runQueue: RunQueue },
  call: CalledRun,
): Promise<Json> {
  const { registry, store, engine } = deps;
  const { id, workflow, origin, signal, agentSource } = call;
  if (origin.chain.length > MAX_CHAIN) throw chainTooLong(origin.chain);
  const input = readInput(agentSource.agent, workflow, call.input);
  signal.throwIfAborted();
  const known = await store.info(id);
  if (known === undefined || known.head === 0) {
    const gate = manualLimit(workflow, agentSource.agent.manifest.name, origin);
    const held = await createQueuedRun(deps, gate, { ...call, input });
    const entry = registry.entry(id);
    entry.agentSource = agentSource;
    entry.fresh = held;
  } else {
    const state = await readRun(store, id);
    if (!isSameCall(state.origin, origin)) throw runIdTaken(workflow.name, id);
    if (isOver(state.status)) return outputOf(call, resultOf(state));
    const entry = registry.entry(id);
    entry.agentSource ??= agentSource;
    entry.liftsQuarantine = true;
    // It may have continued without its session and may now be waiting for it.
    if (origin.leads === true) {
      registry.resume(entry);
      for (const look of [...entry.wakeListeners]) look();
    }
  }
  call.onMade?.();
  const end = () => {
    if (!call.isReleased()) cancelRun(deps, id, cancelReasonOf(signal), 'caller').catch(deps.onError);
  };
  const place = () => {
    const ended = listen(registry, call);
    engine.dispatch('run', id, 'called');
    return ended;
  };
  const first = place();
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  try {
    let result = await first;
    // Another process that took the run continues it. Wait for its end there.
    for (let left = MAX_LOSSES; isTaken(result) && left > 0; left--) {
      signal.throwIfAborted();
      registry.entry(id).agentSource ??= agentSource;
      result = await place();
    }
    return outputOf(call, result);
  } finally {
    signal.removeEventListener('abort', end);
  }
}

/** How often a called run may move to another process while its caller stays in this one. */
const MAX_LOSSES = 100;

const TAKEN: ReadonlySet<string> = new Set(['stream_lost', 'stream_moved', 'stream_owned']);

const isTaken = ({ status, error }: RunResult): boolean =>
  status === 'interrupted' && error !== undefined && TAKEN.has(error.code);

/** Cancels a run, whichever process works on it. */
export async function cancelRun(
  { registry, engine }: Pick<RunsDeps, 'engine'> & { readonly registry: RunRegistry },
  run: string,
  reason: string,
  by: string,
): Promise<void> {
  const here = registry.find(run)?.cancel;
  if (here !== undefined) here(reason, by);
  else {
    registry.entry(run).liftsQuarantine = true; // it continues until it has ended
    await engine.signal('run', run, { kind: RUN_CANCEL, from: by, body: reason });
  }
}

/** Resolves with the end of the run. Rejects if the run cannot be worked on or the call is released. */
function listen(registry: RunRegistry, { id, signal, isReleased, onWaiting }: CalledRun): Promise<RunResult> {
  const { listeners } = registry.entry(id);
  return new Promise((resolve, reject) => {
    let resume: (() => void) | undefined;
    const leave = () => {
      listeners.delete(listener);
      signal.removeEventListener('abort', abandon);
    };
    const abandon = () => {
      if (!isReleased()) return; // wait for the cancelled run to end
      leave();
      reject(signal.reason);
    };
    const listener: RunListener = {
      // If another process works on the run, wait for its end there.
      onEnd(result) {
        leave();
        resolve(result);
      },
      onWaiting(waiting) {
        resume ??= onWaiting?.(waiting);
      },
      onWork() {
        resume?.();
        resume = undefined;
      },
      onError(error) {
        leave();
        reject(error);
      },
    };
    listeners.add(listener);
    signal.addEventListener('abort', abandon, { once: true });
    if (signal.aborted) abandon(); // aborted while its stream was created
  });
}

/** Callers choose run ids, so a run with this id may belong to another call. */
const isSameCall = (known: RunOrigin, asked: RunOrigin): boolean =>
  known.parent?.run === asked.parent?.run &&
  known.parent?.step === asked.parent?.step &&
  known.session?.id === asked.session?.id &&
  known.action === asked.action;

function outputOf(call: CalledRun, { run, status, output = null, error, used }: RunResult): Json {
  const workflow = call.workflow.name;
  if (used !== undefined && status !== 'interrupted' && status !== 'waiting') call.onUsed?.(used);
  const why = error ?? { code: 'interrupted', message: 'It was released.', retryable: true };
  switch (status) {
    case 'completed':
      return output;
    case 'cancelled':
      throw runCancelled(workflow, run, why.message);
    case 'failed':
    case 'waiting':
    case 'interrupted':
      throw runFailed(workflow, run, why);
  }
}

const cancelReasonOf = ({ reason }: AbortSignal): string =>
  reason instanceof Error ? reason.message : String(reason);
