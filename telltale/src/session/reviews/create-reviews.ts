import { openReviews, reviewOf } from '../../events/fold-reviews.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { toRuntimeError } from '../../kernel/runtime-error.ts';
import type { ClearCall, PerformCall, SchedulerEdges } from '../../scheduler/edges.ts';
import type { Approve, Target } from '../../targets/target.ts';
import type { Stop } from '../stop.ts';
import { createAsking } from './ask-people.ts';
import type { Asking } from './asking.ts';
import { createComingToRest, type RestEdges } from './come-to-rest.ts';
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

export interface ReviewEdges extends Omit<RestEdges, 'isBusy'> {
  readonly clock: Clock;
  readonly find: (action: ClearCall['action']) => Target | undefined;
  readonly agent: () => JsonObject;
  readonly approve?: Approve | undefined;
}

export function createReviews(edges: ReviewEdges): Reviews {
  const { log, stop, clock, approve } = edges;
  const { state } = log;
  /** Most sessions ask nobody. */
  let made: Asking | undefined;
  const asking = () => {
    made ??= createAsking({ log, clock, agent: edges.agent, approve, changed: rest.lookSoon });
    return made;
  };
  const rest = createComingToRest({ ...edges, isBusy: () => made?.isBusy() === true });

  const waitUntil = (given: Stop, start: (done: () => void) => void): Promise<void> | undefined => {
    const waits = given.until((done) => {
      rest.setIdle(true);
      start(() => {
        rest.setIdle(false);
        done();
      });
    });
    if (waits !== undefined) rest.moved();
    return waits;
  };

  const reviews: Reviews = {
    moved: rest.moved,
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
      if (ends === 'cancel' || ends === 'fail') return false;
      rest.answered();
      return asking().decide(...decision);
    },
    until: (start) => waitUntil(stop, start),
    within(exchange) {
      // The session goes on behind it, and is busy then.
      exchange.onStop(() => rest.setIdle(false));
      return { ...reviews, until: (start) => waitUntil(exchange, start) };
    },
    isOnlyWaiting() {
      const { results, faults, rejected } = state.news;
      const isNew = results.length + faults.length + rejected.length > 0;
      return rest.mayWait() && !isNew && edges.scheduler().atRest();
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
