import { readRun } from '../../engine/read-run.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import type { Cause } from '../../log/event.ts';
import { decodeRunEvent } from '../../log/run-codec.ts';
import { isTurn, type RunEvent, type RunOrigin } from '../../log/run-event.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import type { Store } from '../../store/store.ts';
import { handGate } from '../outside/gate.ts';
import type { Turns } from '../outside/turns.ts';
import { readInput } from './read-input.ts';
import type { Ground, RunsDeps } from './run-environment.ts';
import { chainTooLong, MAX_CHAIN, runCancelled, runFailed, runIdTaken } from './run-errors.ts';
import { RUN_CANCEL } from './run-messages.ts';
import { type BoardListener, makeInTurn, type RunBoard } from './run-registry.ts';
import { isOver, type RunResult, type RunUsage, resultOf, type WorkflowRun } from './run-types.ts';

export interface LiveRunOptions {
  readonly onWaiting?: 'release' | 'hold' | undefined;
  readonly signal?: AbortSignal | undefined;
}

const STAY_MS = 3_600_000;

/** A run that was placed, as its starter holds it. `ready` resolves once its stream is there. */
export function createLiveRun(
  deps: RunsDeps & { readonly board: RunBoard },
  id: string,
  ready: Promise<void>,
  { onWaiting = 'release', signal }: LiveRunOptions,
): WorkflowRun {
  const { board, store } = deps;
  const entry = board.entry(id);
  let finish: (result: RunResult) => void = () => undefined;
  let refuse: (error: unknown) => void = () => undefined;
  const result = new Promise<RunResult>((resolve, reject) => {
    finish = resolve;
    refuse = reject;
  });
  result.catch(() => undefined); // a caller that only reads events is not ended by it
  let begun = false;
  const listener: BoardListener = {
    onEnd: finish,
    onWork() {
      begun = true;
    },
    onOwned(error) {
      if (begun) return; // somebody else goes on with it
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
  // A run that is held may wait for a message only, and nothing else may keep the process.
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
        // One that cannot begin says so by its result.
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
      // One that only waits is let go of already.
      if (entry.letGo === undefined) finish({ run: id, status: 'interrupted' });
      else entry.letGo();
      await result.catch(() => undefined);
    },
  };
}

const reasonOf = (reason: unknown): string =>
  reason instanceof RuntimeError || reason instanceof Error ? reason.message : String(reason);

/** Events that are read at a time. */
const PAGE = 1_000;

/** Every event of a run from the first on, after its commit; ends once `over` resolves and all has been read. */
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
      // Looked at before the log is: what is committed meanwhile is read in the next round.
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
  /** The same for the same call, so that the run is found again after a crash. */
  readonly id: string;
  readonly workflow: WorkflowManifest;
  readonly ground: Ground;
  readonly input: JsonObject;
  readonly origin: RunOrigin;
  readonly balance?: number | undefined;
  readonly cause: Cause | undefined;
  /** Ends the call. Whether the run is cancelled with it, or only let go of, `isLetGo` says. */
  readonly signal: AbortSignal;
  readonly isLetGo: () => boolean;
  /** Called when the run has nothing to do before that time; what it returns, when it goes on. */
  readonly onWaiting?: (waiting: { readonly for: string; readonly due?: number }) => () => void;
  /** Called once its stream is there. */
  readonly onMade?: () => void;
  /** Called when it has ended, before its caller goes on, where it has used something. May come again after a crash. */
  readonly onUsed?: (used: RunUsage) => void;
}

/** Calls a workflow and waits for its end: from its start, or from where its log ends. */
export async function callRun(
  deps: RunsDeps & { readonly board: RunBoard; readonly turns: Turns },
  call: CalledRun,
): Promise<Json> {
  const { board, store, engine } = deps;
  const { id, workflow, origin, signal, ground } = call;
  if (origin.chain.length > MAX_CHAIN) throw chainTooLong(origin.chain);
  const input = readInput(ground.agent, workflow, call.input);
  signal.throwIfAborted();
  const known = await store.info(id);
  if (known === undefined || known.head === 0) {
    const gate = handGate(workflow, ground.agent.manifest.name, origin);
    const held = await makeInTurn(deps, gate, { ...call, input });
    const entry = board.entry(id);
    entry.ground = ground;
    entry.fresh = held;
  } else {
    const state = await readRun(store, id);
    if (!isSameCall(state.origin, origin)) throw runIdTaken(workflow.name, id);
    if (isOver(state.status)) return outputOf(call, resultOf(state));
    const entry = board.entry(id);
    entry.ground ??= ground;
    entry.isReleased = true;
    // It may have gone on without its session, and waits for it.
    if (origin.leads === true) {
      board.unpark(entry);
      for (const look of [...entry.claims]) look();
    }
  }
  call.onMade?.();
  const end = () => {
    if (!call.isLetGo()) cancelRun(deps, id, cancelReasonOf(signal), 'caller').catch(deps.onError);
  };
  const place = () => {
    const ended = listen(board, call);
    engine.place('run', id, 'called');
    return ended;
  };
  const first = place();
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  try {
    let result = await first;
    // Whoever took it from this process goes on with it: its end is waited for, as that of any that another works on.
    for (let left = MAX_LOSSES; isTaken(result) && left > 0; left--) {
      signal.throwIfAborted();
      board.entry(id).ground ??= ground;
      result = await place();
    }
    return outputOf(call, result);
  } finally {
    signal.removeEventListener('abort', end);
  }
}

/** How often a called run may be lost to other processes while its caller stays here. */
const MAX_LOSSES = 100;

const TAKEN: ReadonlySet<string> = new Set(['stream_lost', 'stream_moved', 'stream_owned']);

const isTaken = ({ status, error }: RunResult): boolean =>
  status === 'interrupted' && error !== undefined && TAKEN.has(error.code);

/** Ends a run that this or another process works on, or will. */
export async function cancelRun(
  { board, engine }: Pick<RunsDeps, 'engine'> & { readonly board: RunBoard },
  run: string,
  reason: string,
  by: string,
): Promise<void> {
  const here = board.find(run)?.cancel;
  if (here !== undefined) here(reason, by);
  else {
    board.entry(run).isReleased = true; // it goes on to its end
    await engine.signal('run', run, { kind: RUN_CANCEL, from: by, body: reason });
  }
}

/** Resolves with the end of the run; rejects where it cannot be worked on, or the call is let go of. */
function listen(board: RunBoard, { id, signal, isLetGo, onWaiting }: CalledRun): Promise<RunResult> {
  const { listeners } = board.entry(id);
  return new Promise((resolve, reject) => {
    let goOn: (() => void) | undefined;
    const leave = () => {
      listeners.delete(listener);
      signal.removeEventListener('abort', abandon);
    };
    const abandon = () => {
      if (!isLetGo()) return; // its end is waited for
      leave();
      reject(signal.reason);
    };
    const listener: BoardListener = {
      // Where another process works on it, its end is waited for.
      onEnd(result) {
        leave();
        resolve(result);
      },
      onWaiting(waiting) {
        goOn ??= onWaiting?.(waiting);
      },
      onWork() {
        goOn?.();
        goOn = undefined;
      },
      onError(error) {
        leave();
        reject(error);
      },
    };
    listeners.add(listener);
    signal.addEventListener('abort', abandon, { once: true });
    if (signal.aborted) abandon(); // while its stream was made
  });
}

/** Ids are for whoever starts a run to choose: what is found under this one may be a stranger's. */
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
