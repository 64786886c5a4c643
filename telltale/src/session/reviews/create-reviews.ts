import { openReviews, reviewOf } from '../../events/fold-reviews.ts';
import type { Review } from '../../events/state.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { toRuntimeError } from '../../kernel/runtime-error.ts';
import type { ClearCall, PerformCall, SchedulerEdges } from '../../scheduler/edges.ts';
import type { Scheduler } from '../../scheduler/scheduler.ts';
import type { Approve, Target } from '../../targets/target.ts';
import { type CalledAtRest, type Rest, waitsFor } from '../children/rest.ts';
import type { OnWaiting } from '../runtime-types.ts';
import type { SessionLog } from '../session-log.ts';
import type { Stop } from '../stop.ts';
import { createAsking } from './ask-people.ts';
import type { Asking } from './asking.ts';
import { refusedBy } from './review-errors.ts';

/** What a session asks people, and how it waits for them. */
export interface Reviews {
  /** For the scheduler: asks before an action starts, once, whatever happens to the process. */
  readonly clear: NonNullable<SchedulerEdges['clear']>;
  /**
   * What a person approved for an action that is about to be called; undefined where nobody was asked. Rejects where
   * what would be called is something else: the scheduler then asks for leave again.
   */
  granted(call: Pick<PerformCall, 'action' | 'input'>): Promise<readonly string[]> | undefined;
  readonly decide: Asking['decide'];
  /**
   * As `stop.until`, where nothing but actions, or a message, can end the wait. Once all of them wait for a person, the
   * log says so, and the session is let go of unless it is to be held.
   */
  until(start: (done: () => void) => void): Promise<void> | undefined;
  /** The same for an exchange of a chat, whose waits end with its own `stop`, too. */
  within(exchange: Stop): Reviews;
  /** Whether the model has nothing new to see, and all it has asked for waits for a person. */
  isOnlyWaiting(): boolean;
  /** An action has ended, or what it calls may have come to rest. */
  moved(): void;
  /** Whether whoever resumes the session may go on with what waits in it: then it is not held for it. */
  readonly goesOnElsewhere: boolean;
  /** Closes reviews of a resumed session that nobody needs any more. */
  tidy(): void;
}

export interface ReviewEdges {
  readonly log: SessionLog;
  readonly stop: Stop;
  readonly clock: Clock;
  readonly scheduler: () => Pick<Scheduler, 'atRest'>;
  readonly find: (action: ClearCall['action']) => Target | undefined;
  readonly agent: () => JsonObject;
  readonly approve?: Approve | undefined;
  /** The agents that it calls. */
  readonly called: CalledAtRest;
  readonly rest: Rest;
  /** What becomes of a session with nothing to do but wait: one that was called leaves it to the one above it. */
  readonly atRest: OnWaiting | 'tell';
}

export function createReviews(edges: ReviewEdges): Reviews {
  const { log, stop, clock, approve, called, rest } = edges;
  const { state } = log;
  /** Most sessions ask nobody. */
  let made: Asking | undefined;
  const asking = () => {
    made ??= createAsking({ log, clock, agent: edges.agent, approve, changed: lookSoon });
    return made;
  };
  /** Whether the loop has nothing to do until an action ends. */
  let idle = false;

  /** Behind what is going on now: who waits for an action that has just ended is told first. */
  const lookSoon = () => queueMicrotask(look);
  const look = () => {
    const all = waitsNow();
    if (all !== undefined) settle(openReviews(state), all);
    if (edges.atRest === 'tell') tellAbove(all !== undefined);
  };
  /** The reviews that it waits for, where there is nothing else to do. */
  const waitsNow = (): readonly Review[] | undefined => {
    if (!idle || made?.isBusy() === true || stop.reason !== undefined) return undefined;
    const open = openReviews(state);
    if (open.length === 0 && called.isEmpty()) return undefined;
    return edges.scheduler().atRest() ? [...open, ...called.reviews()] : undefined;
  };
  const settle = (own: readonly Review[], all: readonly Review[]) => {
    // One that is held for what it called would go on without a word on its log.
    const isSaid = edges.atRest === 'release' || own.length === all.length;
    if (isSaid && state.status !== 'waiting')
      log.append({ type: 'session.waiting', for: waitsFor(state, own) });
    if (edges.atRest !== 'release') return;
    log.seal(); // from here on the log belongs to whoever resumes it
    stop.now({ kind: 'wait', reviews: all });
  };
  let toldRest = false;
  /** Once all up to here is on the log, so that the one above has it, too. */
  const tellAbove = (isAtRest: boolean) => {
    if (isAtRest === toldRest) return;
    toldRest = isAtRest;
    if (isAtRest) log.flushed().then(rest.moved, nothing);
    else rest.moved();
  };
  rest.reviews = waitsNow;

  const waitUntil = (given: Stop, start: (done: () => void) => void): Promise<void> | undefined => {
    const waits = given.until((done) => {
      idle = true;
      start(() => {
        idle = false;
        done();
      });
    });
    if (waits !== undefined) moved();
    return waits;
  };

  const moved = () => {
    if (state.reviews.length > 0 || !called.isEmpty()) lookSoon();
  };

  const reviews: Reviews = {
    moved,
    goesOnElsewhere: edges.atRest !== 'hold',
    clear(call) {
      const known = reviewOf(state, call.action.id);
      if (known?.answer === 'rejected') return Promise.resolve(refusedBy(known));
      const target = edges.find(call.action);
      if (target === undefined) return undefined;
      if (known !== undefined) return asking().askAgain(known, { ...call, target });
      try {
        const need = target.needs?.(call.input, { agent: edges.agent });
        return need === undefined ? undefined : asking().ask({ ...call, target }, need);
      } catch (thrown) {
        return Promise.resolve(toRuntimeError(thrown));
      }
    },
    granted({ action, input }) {
      if (state.reviews.length === 0) return undefined;
      const review = reviewOf(state, action.id);
      const target = review?.answer === 'approved' ? edges.find(action) : undefined;
      return review === undefined || target === undefined
        ? undefined
        : asking().confirm(review, { action, input, target });
    },
    decide(...decision) {
      const ends = stop.reason?.kind;
      return ends === 'cancel' || ends === 'fail' ? false : asking().decide(...decision);
    },
    until: (start) => waitUntil(stop, start),
    within(exchange) {
      // The session goes on behind it, and is busy then.
      exchange.onStop(() => {
        idle = false;
      });
      return { ...reviews, until: (start) => waitUntil(exchange, start) };
    },
    isOnlyWaiting() {
      const { results, faults, rejected } = state.news;
      const isNew = results.length + faults.length + rejected.length > 0;
      return (state.reviews.length > 0 || !called.isEmpty()) && !isNew && edges.scheduler().atRest();
    },
    tidy() {
      for (const { review, action } of openReviews(state)) {
        const known = state.actions.get(action);
        const needs = known === undefined ? undefined : edges.find(known.action)?.needs;
        if (needs === undefined) asking().decide(review, { answer: 'withdrawn', by: 'runtime' });
      }
    },
  };
  return reviews;
}

function nothing(): void {
  // a log that cannot be written ends the session
}
