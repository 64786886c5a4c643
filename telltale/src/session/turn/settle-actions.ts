import type { SessionContext } from '../context.ts';
import type { HeardResponse } from './hearing-state.ts';
import { isOut, waitNoMore, whenOut } from './response-stream.ts';

/**
 * Async actions do not hold the next turn, but one that ends within a moment is worth it: the model would only be asked
 * to wait.
 */
const SETTLE_MS = 100;

/** Waits a moment for what is about to end, or for more where the model has nothing to do but wait. */
export async function letSettle(context: SessionContext, running: readonly string[]): Promise<void> {
  await aMoment(context, running);
  await stillOnly(context, running);
}

/** A moment for what is about to end; undefined where nothing has to be waited for. */
export function aMoment(context: SessionContext, running: readonly string[]): Promise<void> | undefined {
  const { state, scheduler, stop, clock } = context;
  if (running.length === 0) return undefined;
  // The model has nothing to do but wait: so the runtime waits, unless somebody has a word for it.
  if (state.idleTurns > 0) return state.news.messages.length === 0 ? firstEnd(context, running) : undefined;
  return stop.until((done) => {
    const disarm = clock.after(SETTLE_MS, done);
    const forget = scheduler.whenEnded(running, done);
    return () => {
      disarm();
      forget();
    };
  });
}

/** After that moment: asking the model again would only cost where there is nothing that it does not know. */
export function stillOnly(context: SessionContext, running: readonly string[]): Promise<void> | undefined {
  const { reviews, state } = context;
  if (running.length === 0 || !reviews.isOnlyWaiting() || state.news.messages.length > 0) return undefined;
  return firstEnd(context, running);
}

/** Waits until one of these has ended, or a message has come. */
function firstEnd(
  { reviews, scheduler, inbox }: SessionContext,
  ids: readonly string[],
): Promise<void> | undefined {
  return reviews.until((done) => {
    const deafen = inbox.onMessage(done);
    const forget = scheduler.whenOneEnded(ids, done);
    return () => {
      deafen();
      forget();
    };
  });
}

/**
 * Waits until all of these are on the log: a response belongs to the turn it was said in. Where it waits at a name on
 * which people decide, who may take days, and the agent is spoken to, it goes out without.
 */
export async function responsesOut(
  { reviews, stop }: SessionContext,
  responses: readonly HeardResponse[],
): Promise<void> {
  for (const { stream } of responses) {
    while (!isOut(stream) && stop.reason === undefined && !reviews.isSpokenTo())
      await reviews.untilSpokenTo((done) => {
        whenOut(stream, done);
        return undefined;
      });
    if (stop.reason === undefined && reviews.isSpokenTo()) waitNoMore(stream);
  }
}

/**
 * Waits until no tracked action is left, those that ended ones set off included; unless the agent is spoken to while all
 * that is left waits for people.
 */
export async function allEndedOrSpokenTo({ scheduler, stop, reviews }: SessionContext): Promise<void> {
  for (
    let ids = scheduler.tracked();
    ids.length > 0 && stop.reason === undefined && !reviews.isSpokenTo();
    ids = scheduler.tracked()
  )
    await reviews.untilSpokenTo((done) => scheduler.whenEnded(ids, done));
}
