import { isReported, isShown } from '../../events/action.ts';
import { isEmptyNews } from '../../events/news.ts';
import { NONE } from '../../kernel/grow.ts';
import type { SessionContext } from '../context.ts';
import type { HeardResponse } from './hearing-state.ts';
import { isOut, waitNoMore, whenOut } from './response-stream.ts';

/**
 * Waits at the end of a turn until its tracked actions have ended, up to `limits.settle`; undefined where there is none.
 * A message ends the wait. What waits for a person keeps the turn waiting, and that time does not count.
 */
export function settle(context: SessionContext): Promise<void> | undefined {
  return context.scheduler.tracked().length === 0 ? undefined : settled(context);
}

async function settled(context: SessionContext): Promise<void> {
  const { scheduler, stop, state, clock, manifest } = context;
  const full = manifest.limits.settle.ms;
  let left = full;
  let resting: readonly string[] = NONE;
  for (;;) {
    const open = scheduler.tracked();
    if (open.length === 0 || stop.reason !== undefined || state.news.messages.length > 0) return;
    const moving = scheduler.moving();
    if (moving.some((id) => resting.includes(id))) left = full; // a person has decided: it runs only now
    resting = open.filter((id) => !moving.includes(id));
    if (left <= 0 && resting.length === 0) return;
    const began = clock.monotonic();
    await oneEnded(context, { open, moving, ms: moving.length > 0 && left > 0 ? left : undefined });
    if (moving.length > 0) left -= clock.monotonic() - began;
  }
}

interface Awaited {
  readonly open: readonly string[];
  /** Those that wait for nobody. */
  readonly moving: readonly string[];
  /** How long to wait at the most. */
  readonly ms: number | undefined;
}

/** Waits until one of these has ended or waits for a person, or a person has decided; for a message; and for the time. */
function oneEnded(
  { reviews, scheduler, inbox, clock }: SessionContext,
  { open, moving, ms }: Awaited,
): Promise<void> | undefined {
  let isOver = () => {};
  const moved = () => {
    const now = scheduler.moving();
    if (now.length !== moving.length || now.some((id) => !moving.includes(id))) isOver();
  };
  return reviews.untilMoved((done) => {
    isOver = done;
    const deafen = inbox.onMessage(done);
    const forget = scheduler.whenOneEnded(open, done);
    const disarm = ms === undefined ? undefined : clock.after(ms, done);
    return () => {
      deafen();
      forget();
      disarm?.();
    };
  }, moved);
}

/**
 * What runs in the background, where asking the model again would only tell it that: it was told so before, and nothing
 * else is new.
 */
export function isOnlyInBackground({ state }: SessionContext): boolean {
  if (!isEmptyNews(state.news)) return false;
  const told = state.turns.at(-1)?.running ?? NONE;
  let isRunning = false;
  for (const id of state.open) {
    const action = state.actions.get(id)?.action;
    if (action === undefined || !isReported(action) || !isShown(action)) continue;
    if (!told.includes(id)) return false;
    isRunning = true;
  }
  return isRunning;
}

/** Waits until there is something that the model does not know. */
export async function untilNews(context: SessionContext): Promise<void> {
  const { reviews, state, stop, log } = context;
  while (stop.reason === undefined && state.failing === undefined && isOnlyInBackground(context))
    await reviews.until((done) => {
      const told = log.subscribe(() => {
        if (!isOnlyInBackground(context)) done();
      });
      // It may have come before somebody listened.
      if (!isOnlyInBackground(context)) done();
      return told;
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
