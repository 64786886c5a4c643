import { readRun } from '../../engine/read-run.ts';
import type { Cause } from '../../events/event.ts';
import type { RunOrigin } from '../../events/run-event.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import { handGate } from '../outside/hand-gate.ts';
import type { Turns } from '../outside/turns.ts';
import { makeInTurn } from './make-in-turn.ts';
import { readInput } from './read-input.ts';
import type { Ground } from './realm.ts';
import type { BoardListener, RunBoard } from './run-board.ts';
import type { RunsEdges } from './run-edges.ts';
import { isOver, resultOf } from './run-end.ts';
import { chainTooLong, MAX_CHAIN, runCancelled, runFailed, runIdTaken } from './run-errors.ts';
import { RUN_CANCEL } from './run-messages.ts';
import type { RunResult, RunUsage } from './run-types.ts';

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
  edges: RunsEdges & { readonly board: RunBoard; readonly turns: Turns },
  call: CalledRun,
): Promise<Json> {
  const { board, store, engine } = edges;
  const { id, workflow, origin, signal, ground } = call;
  if (origin.chain.length > MAX_CHAIN) throw chainTooLong(origin.chain);
  const input = readInput(ground.agent, workflow, call.input);
  signal.throwIfAborted();
  const known = await store.info(id);
  if (known === undefined || known.head === 0) {
    const gate = handGate(workflow, ground.agent.manifest.name, origin);
    const held = await makeInTurn(edges, gate, { ...call, input });
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
    if (!call.isLetGo()) cancelRun(edges, id, reasonOf(signal), 'caller').catch(edges.onError);
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
  { board, engine }: Pick<RunsEdges, 'engine'> & { readonly board: RunBoard },
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
  const why = error ?? { code: 'interrupted', message: 'It was let go of.', retryable: true };
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

const reasonOf = ({ reason }: AbortSignal): string =>
  reason instanceof Error ? reason.message : String(reason);
