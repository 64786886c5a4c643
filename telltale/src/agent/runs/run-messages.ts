import type { Engine } from '../../engine/engine.ts';
import type { ErrorJson } from '../../lib/errors.ts';
import type { Json } from '../../lib/json.ts';
import type { Cause } from '../../log/event.ts';
import type { RunState } from '../../log/run-state.ts';
import type { Store } from '../../store/store.ts';
import type { SessionAct } from '../../workflows/scope.ts';

/** Kinds of messages in a session's inbox. */
export const RUN_ASKS = 'run.asks';
export const RUN_ENDED = 'run.ended';
/**
 * The run that guides the session has a task for it, or has ended. The message only causes the session to be
 * resumed.
 */
const RUN_WAITS = 'run.waits';

/** Kinds of messages in a run's inbox. */
export const RUN_CANCEL = 'cancel';
export const RUN_SIGNAL = 'signal';
export const RUN_REVIEW = 'review';
/** A client's claim for a task of the run. */
export const RUN_CLAIM = 'claim';
/** A run that a step called has ended or continues. */
export const RUN_CHILD = 'child';
/** The run may start: `concurrency` of its trigger has room for it. */
export const RUN_TURN = 'turn';

/** A command of a run to its session. */
export interface AskMessage {
  readonly run: string;
  readonly workflow: string;
  readonly key: string;
  readonly act: SessionAct;
  readonly cause: Cause;
}

export type RunEnd =
  | { readonly status: 'completed'; readonly output: Json }
  | { readonly status: 'failed'; readonly error: ErrorJson }
  | { readonly status: 'cancelled'; readonly reason: string };

/** How a run that a session's trigger started has ended. */
export interface EndMessage {
  readonly run: string;
  readonly workflow: string;
  readonly end: RunEnd;
  /** What its decisions have cost. */
  readonly charged: number;
  readonly cause: Cause;
}

/**
 * Sessions that do not read their inbox any more. If they are resumed after all, they read the ends of their
 * runs from the logs.
 */
const OVER: ReadonlySet<string> = new Set(['completed', 'cancelled']);

/** Reports the end of a run to the run that called it, or to the session whose trigger started it. */
export async function reportRunEnd(
  { store, engine }: { readonly store: Store; readonly engine: Pick<Engine, 'signal'> },
  state: RunState,
): Promise<void> {
  const { origin, id } = state;
  if (origin.parent !== undefined) {
    await engine.signal('run', origin.parent.run, { kind: RUN_CHILD, from: id, body: { run: id } });
    return;
  }
  if (origin.leads === true) await wakeGuidedSession(store, state);
  if (origin.session === undefined || origin.trigger === undefined) return;
  const info = await store.info(origin.session.id);
  if (info === undefined || OVER.has(info.status)) return;
  const message = runEndMessage(state);
  if (message === undefined) return;
  await store.send(origin.session.id, {
    kind: RUN_ENDED,
    from: id,
    body: JSON.parse(JSON.stringify(message)),
  });
}

/** Causes a waiting guided session to be resumed by some process. */
export async function wakeGuidedSession(
  store: Pick<Store, 'info' | 'send'>,
  { id, origin }: RunState,
): Promise<void> {
  const session = origin.session?.id ?? '';
  const info = await store.info(session);
  if (info?.status !== 'waiting' || info.messages !== undefined) return;
  await store.send(session, { kind: RUN_WAITS, from: id, body: '' });
}

/** Undefined if the run has not ended. */
export function runEndMessage(state: RunState): EndMessage | undefined {
  const end = endOf(state);
  if (end === undefined) return undefined;
  const { id, workflow, started: cause, ended = cause } = state;
  return { run: id, workflow, end, charged: state.charged, cause: ended };
}

function endOf({ status, output = null, error }: RunState): RunEnd | undefined {
  switch (status) {
    case 'completed':
      return { status, output };
    case 'failed':
      return { status, error: error ?? NO_REASON };
    case 'cancelled':
      return { status, reason: (error ?? NO_REASON).message };
    case 'running':
    case 'waiting':
      return undefined;
  }
}

const NO_REASON = { code: 'failed', message: 'No reason is on the log.', retryable: false };
