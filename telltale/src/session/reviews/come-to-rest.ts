import { openReviews } from '../../events/fold-reviews.ts';
import type { Review } from '../../events/state.ts';
import type { Scheduler } from '../../scheduler/scheduler.ts';
import { type CalledAtRest, type Rest, waitsFor } from '../children/rest.ts';
import type { SessionLog } from '../session-log.ts';
import type { Stop } from '../stop.ts';
import type { Asking } from './asking.ts';

export interface RestDeps {
  readonly log: SessionLog;
  readonly stop: Stop;
  readonly scheduler: Pick<Scheduler, 'atRest' | 'tracked'>;
  /** The agents that it calls. */
  readonly called: CalledAtRest;
  readonly rest: Rest;
  /** What becomes of a session with nothing to do but wait: one that was called leaves it to the one above it. */
  readonly atRest: 'release' | 'hold' | 'tell';
}

/** Notices that nothing is left to do in a session but to wait for people: then it says so, and is let go of. */
export interface ComingToRest {
  readonly deps: RestDeps;
  /** Questions to people, once there was one. */
  asking: Asking | undefined;
  /** Whether the loop has nothing to do until an action ends. */
  idle: boolean;
  /** Ends the wait in hand, where that is one that a message for the agent ends. */
  spokenTo: (() => void) | undefined;
  toldRest: boolean;
  /** Told of the wait in hand whenever a question, an action or what it calls has moved on. */
  watch: (() => void) | undefined;
  /** The reviews that it waits for, where there is nothing else to do. */
  waitsNow(): readonly Review[] | undefined;
}

export function createComingToRest(deps: RestDeps): ComingToRest {
  const coming: ComingToRest = {
    // A copy: docs/decisions/copies.md
    deps,
    asking: undefined,
    idle: false,
    spokenTo: undefined,
    toldRest: false,
    watch: undefined,
    waitsNow,
  };
  deps.rest.resting = coming;
  return coming;
}

function waitsNow(this: ComingToRest): readonly Review[] | undefined {
  const { deps, asking, idle } = this;
  const { log, stop, called } = deps;
  // While a question is being worked out, or asked in this process, something will come of it.
  if (!idle || stop.reason !== undefined || asking?.isBusy() === true) return undefined;
  if (this.spokenTo !== undefined && hasWord(this)) return undefined;
  const open = openReviews(log.state);
  if (open.length === 0 && called.isEmpty()) return undefined;
  const speaker = called.speaker();
  const isAtRest =
    speaker === undefined
      ? deps.scheduler.atRest()
      : speaker.rest.reviews() !== undefined &&
        (deps.scheduler.atRest() || deps.scheduler.tracked().length === 0);
  return isAtRest ? [...open, ...called.reviews()] : undefined;
}

export function setIdle(coming: ComingToRest, isIdle: boolean): void {
  coming.idle = isIdle;
  if (coming.toldRest && !isIdle) lookSoon(coming);
}

/** Something has changed: a question, an action, what it calls. Behind what is going on now: who waits for an action that has just ended is told first. */
export const lookSoon = (coming: ComingToRest): void => queueMicrotask(() => look(coming));

/** The same, where there may be something to wait for. */
export function lookIfWaiting(coming: ComingToRest): void {
  if (mayWait(coming)) lookSoon(coming);
}

/** Whether there may be something to wait for. */
const mayWait = ({ deps: { log, called } }: ComingToRest): boolean =>
  log.state.reviews.length > 0 || !called.isEmpty();

/** A question was decided: whoever was told that there is nothing to do, or watches, hears that there is. */
export function answered(coming: ComingToRest): void {
  if (coming.toldRest || coming.watch !== undefined) lookSoon(coming);
}

/** Whether there is a message for the agent, and nothing will move by itself before a person answers. */
export const hasWord = ({ deps: { log, scheduler } }: ComingToRest): boolean =>
  log.state.news.messages.length > 0 && scheduler.atRest();

function look(coming: ComingToRest): void {
  const { deps } = coming;
  coming.watch?.();
  if (coming.spokenTo !== undefined && hasWord(coming)) coming.spokenTo();
  const all = coming.waitsNow();
  if (all !== undefined) settle(deps, openReviews(deps.log.state), all);
  if (deps.atRest === 'tell') tellAbove(coming, all !== undefined);
}

function settle({ log, stop, atRest }: RestDeps, own: readonly Review[], all: readonly Review[]): void {
  const { state } = log;
  // One that is held for what it called would go on without a word on its log.
  const isSaid = atRest === 'release' || own.length === all.length;
  if (isSaid && state.status !== 'waiting')
    log.append({ type: 'session.waiting', for: waitsFor(state, own) });
  if (atRest !== 'release') return;
  log.seal(); // from here on the log belongs to whoever resumes it
  stop.now({ kind: 'wait', reviews: all });
}

/**
 * Once all up to here is on the log, so that the one above has it, too. At rest it is told each time: it may have been
 * looked at by the one above while there was something to do.
 */
function tellAbove(coming: ComingToRest, isAtRest: boolean): void {
  const { log, rest } = coming.deps;
  if (!isAtRest && !coming.toldRest) return;
  coming.toldRest = isAtRest;
  if (isAtRest) log.flushed().then(() => rest.moved(), unwritten);
  else rest.moved();
}

function unwritten(): void {
  // a log that cannot be written ends the session
}
