import { openReviews } from '../events/fold-reviews.ts';
import type { SessionState } from '../events/state.ts';
import { usageOf } from '../events/usage-of.ts';
import { type RuntimeError, toRuntimeError } from '../kernel/runtime-error.ts';
import type { Conversation } from '../prompt/conversation.ts';
import { closeTurn } from './close-turn.ts';
import type { SessionContext } from './context.ts';
import type { LoopEnd } from './loop.ts';
import type { SessionResult } from './runtime-types.ts';
import type { SessionLog } from './session-log.ts';
import { isLetGo, type StopReason } from './stop.ts';

/** `fire_and_forget` actions get this long at the end of a session. */
const FAREWELL_MS = 5_000;

/** All that a session has to write is on its way. */
export interface Concluded {
  /** How it went, once that is written. */
  readonly result: Promise<SessionResult>;
}

/** Ends what is still running, and appends the last event. */
export async function conclude(
  context: SessionContext,
  conversation: Conversation,
  end: LoopEnd,
): Promise<Concluded> {
  const { log, scheduler, stop } = context;
  if (end.kind === 'completed') {
    if ((await farewell(context)) === 'failing') return conclude(context, conversation, { kind: 'stopped' });
    if (context.hooks !== undefined) await context.hooks.settled();
    log.append({ type: 'session.completed', result: end.result }, end.cause ?? context.sessionOrigin());
  } else if (end.kind === 'stopped') {
    await stopAll(context, conversation.prompt()?.tokens ?? 0, stop.reason ?? { kind: 'interrupt' });
  } else {
    await scheduler.cancel(end.error.message);
    if (context.hooks !== undefined) await context.hooks.settled();
    const type = end.kind === 'failed' ? 'session.failed' : 'session.stalled';
    const cause = end.kind === 'failed' ? end.cause : undefined;
    log.append({ type, error: end.error.toJSON() }, cause ?? context.sessionOrigin());
  }
  return { result: outcomeOf(context, end) };
}

async function outcomeOf({ log, state, stop }: SessionContext, end: LoopEnd): Promise<SessionResult> {
  const { reason } = stop;
  const letGo = end.kind === 'stopped' && isLetGo(stop);
  // An end that could not be written is none: the log says that the session goes on.
  const waits = letGo && reason?.kind === 'wait';
  const lost = reason?.kind === 'lost' ? reason.error : letGo && !waits ? undefined : await whyUnwritten(log);
  const { totals } = state;
  const isOver = !letGo && state.status !== 'running';
  const status = lost === undefined && (isOver || waits) ? statusOf(state) : 'interrupted';
  const error = lost?.toJSON() ?? state.error;
  return {
    session: state.id,
    status,
    ...(status !== 'completed' || state.result === undefined ? {} : { result: state.result }),
    ...(error === undefined ? {} : { error }),
    ...(status === 'waiting' ? { reviews: reviewsOf(reason) ?? openReviews(state) } : {}),
    turns: lost === undefined ? totals.turns : log.committedTurns(),
    usage: usageOf(totals),
    cost_usd: totals.cost_usd,
  };
}

const reviewsOf = (reason: StopReason | undefined) => (reason?.kind === 'wait' ? reason.reviews : undefined);

const statusOf = ({ status }: SessionState): SessionResult['status'] =>
  status === 'running' ? 'interrupted' : status;

const whyUnwritten = (log: SessionLog): Promise<RuntimeError | undefined> =>
  log.flushed().then(() => undefined, toRuntimeError);

async function stopAll(context: SessionContext, promptTokens: number, reason: StopReason): Promise<void> {
  const { log, scheduler } = context;
  switch (reason.kind) {
    case 'interrupt':
    case 'wait':
    case 'lost':
      log.seal();
      await scheduler.abandon();
      if (context.hooks !== undefined) await context.hooks.settled();
      return;
    case 'cancel':
      await scheduler.cancel(`The session was cancelled: ${reason.reason}`);
      if (context.hooks !== undefined) await context.hooks.settled();
      closeTurn(context, promptTokens, 'cancelled', 'The session was cancelled.');
      log.append(
        { type: 'session.cancelled', reason: reason.reason, by: reason.by },
        context.sessionOrigin(),
      );
      return;
    case 'fail':
      await scheduler.cancel(reason.error.message);
      if (context.hooks !== undefined) await context.hooks.settled();
      closeTurn(context, promptTokens, reason.error.code, reason.error.message);
      log.append({ type: 'session.failed', error: reason.error.toJSON() }, context.sessionOrigin());
      return;
  }
}

/** `failing`: one of those that nobody waited for has failed, and its `on_error` is `fail`; `stop` says what comes of it. */
async function farewell(context: SessionContext): Promise<'well' | 'failing'> {
  const { scheduler, clock, stop, state, reviews } = context;
  const left = scheduler.untracked();
  if (left.length > 0)
    await stop.until((done) => {
      const disarm = clock.after(FAREWELL_MS, done);
      const forget = scheduler.whenEnded(left, done);
      return () => {
        disarm();
        forget();
      };
    });
  if (state.failing !== undefined) {
    await reviews.until(() => undefined); // what was done is undone first
    return 'failing';
  }
  if (left.length > 0) await scheduler.cancel('The session has ended.');
  return 'well';
}
