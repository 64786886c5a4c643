import type { Cause, ReviewAnswer } from '../../events/event.ts';
import { openReviews, reviewOf } from '../../events/fold-reviews.ts';
import type { Review } from '../../events/state.ts';
import type { Clock } from '../../kernel/clock.ts';
import { createIdSource, type IdSource } from '../../kernel/ids.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { type RuntimeError, toRuntimeError } from '../../kernel/runtime-error.ts';
import type { ClearCall, SchedulerEdges } from '../../scheduler/edges.ts';
import type { Scheduler } from '../../scheduler/scheduler.ts';
import type { Approve, Need, Target } from '../../targets/target.ts';
import type { SessionLog } from '../session-log.ts';
import type { Stop } from '../stop.ts';
import { refusedBy, withdrawnReview } from './review-errors.ts';
import { rowOf, withoutRow } from './review-table.ts';

/** What is decided of a review, by whom. */
export interface Decided {
  readonly answer: ReviewAnswer;
  readonly by: string;
  readonly note?: string;
}

/** What a session asks people, and how it waits for them. */
export interface Reviews {
  /** For the scheduler: asks before an action starts, once, whatever happens to the process. */
  readonly clear: NonNullable<SchedulerEdges['clear']>;
  /** What a person approved for an action. */
  granted(action: string): readonly string[] | undefined;
  /** Puts a decision on the log, with what is consumed by it. False where the review is not open. */
  decide(review: string, decided: Decided, consumed?: readonly number[]): boolean;
  /**
   * As `stop.until`, where nothing but actions, or a message, can end the wait. Once all of them wait for a person, the
   * log says so, and the session is let go of unless it is to be held.
   */
  until(start: (done: () => void) => void): Promise<void> | undefined;
  /** Whether the model has nothing new to see, and all it has asked for waits for a person. */
  isOnlyWaiting(): boolean;
  /** An action has ended. */
  onEnded(): void;
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
  /** Asks in this process; without it, whoever answers through the inbox. */
  readonly approve?: Approve | undefined;
  /** Keeps the session in this process while it waits. */
  readonly hold: boolean;
}

const outside = (stream: string): Cause => ({ stream, seq: 0, depth: 0 });

export function createReviews(edges: ReviewEdges): Reviews {
  const { log, stop, approve } = edges;
  const { state } = log;
  const waiting = new Map<string, () => void>();
  let ids: IdSource | undefined;
  /** Questions that are being worked out, or asked in this process: something will come of them. */
  let busy = 0;
  /** Whether the loop has nothing to do until an action ends. */
  let idle = false;

  /** Behind what is going on now: who waits for an action that has just ended is told first. */
  const lookSoon = () => queueMicrotask(look);

  const look = () => {
    if (!idle || busy > 0 || state.status === 'waiting' || stop.reason !== undefined) return;
    const open = openReviews(state);
    if (open.length === 0 || !edges.scheduler().atRest()) return;
    log.append({ type: 'session.waiting', for: `review ${open.map(({ review }) => review).join(', ')}` });
    if (edges.hold) return;
    log.seal(); // from here on the log belongs to whoever resumes it
    stop.now({ kind: 'wait' });
  };

  const decide: Reviews['decide'] = (review, { answer, by, note }, consumed) => {
    const found = openReviews(state).find((each) => each.review === review);
    if (found === undefined) return false;
    const body = {
      type: 'review.resolved',
      review,
      answer,
      by,
      ...(note === undefined ? {} : { note }),
    } as const;
    // A person's word comes from outside the log: it is a beginning of its own.
    log.append(body, answer === 'withdrawn' ? undefined : outside(state.id), {
      writes: [withoutRow(review)],
      ...(consumed === undefined ? {} : { consumed }),
    });
    waiting.get(review)?.();
    return true;
  };

  const request = ({ action, input }: ClearCall, need: Need): Review => {
    ids ??= createIdSource({ clock: edges.clock });
    const { target, what, because, grants } = need;
    const body = { review: ids.next('rev'), action: action.id, target, what, because, input, grants };
    const row = rowOf({ ...body, at: edges.clock.now() }, state.id, state.agent);
    log.append({ type: 'review.requested', ...body }, undefined, { writes: [row] });
    return { ...body, at: state.at };
  };

  const askHere = async ({ review, what, target, input }: Review, signal: AbortSignal): Promise<void> => {
    if (approve === undefined) return;
    busy++;
    try {
      const answer = await approve({ what, target, input, signal });
      if (signal.aborted) return;
      const word = typeof answer === 'boolean' ? { approved: answer } : answer;
      const { approved, by = 'approve', note } = word;
      decide(review, {
        answer: approved ? 'approved' : 'rejected',
        by,
        ...(note === undefined ? {} : { note }),
      });
    } catch (thrown) {
      if (signal.aborted) return;
      const note = `nobody could be asked: ${toRuntimeError(thrown).message}`;
      decide(review, { answer: 'rejected', by: 'runtime', note });
    } finally {
      busy--;
      lookSoon();
    }
  };

  /** Resolves once there is an answer: from here, from the inbox, or because the action was cancelled. */
  const answered = (review: Review, { action, signal }: ClearCall): Promise<RuntimeError | undefined> =>
    new Promise((resolve) => {
      const done = new AbortController();
      const withdraw = () => {
        const by = 'runtime';
        if (!decide(review.review, { answer: 'withdrawn', by })) settle();
      };
      const settle = () => {
        waiting.delete(review.review);
        signal.removeEventListener('abort', withdraw);
        done.abort();
        resolve(refusal(reviewOf(state, action.id), review));
      };
      waiting.set(review.review, settle);
      signal.addEventListener('abort', withdraw, { once: true });
      void askHere(review, done.signal);
      lookSoon();
    });

  const askNew = async (call: ClearCall, needed: Promise<Need | undefined>) => {
    busy++;
    let need: Need | undefined;
    try {
      need = await needed;
    } finally {
      busy--;
      lookSoon();
    }
    if (need === undefined || call.signal.aborted) return undefined;
    return answered(request(call, need), call);
  };

  return {
    clear(call) {
      const known = reviewOf(state, call.action.id);
      if (known?.answer === 'approved') return undefined;
      if (known?.answer === 'rejected') return Promise.resolve(refusedBy(known));
      if (known !== undefined) return answered(known, call);
      try {
        const need = edges.find(call.action)?.needs?.(call.input, { agent: edges.agent });
        if (need === undefined) return undefined;
        return need instanceof Promise ? askNew(call, need) : answered(request(call, need), call);
      } catch (thrown) {
        return Promise.resolve(toRuntimeError(thrown));
      }
    },
    granted(action) {
      if (state.reviews.length === 0) return undefined;
      const review = reviewOf(state, action);
      return review?.answer === 'approved' ? review.grants : undefined;
    },
    decide,
    until(start) {
      const waits = stop.until((done) => {
        idle = true;
        start(() => {
          idle = false;
          done();
        });
      });
      if (waits !== undefined && state.reviews.length > 0) lookSoon();
      return waits;
    },
    isOnlyWaiting() {
      const { news } = state;
      return (
        state.reviews.length > 0 &&
        news.results.length + news.faults.length + news.rejected.length === 0 &&
        edges.scheduler().atRest()
      );
    },
    onEnded() {
      if (state.reviews.length > 0) lookSoon();
    },
    tidy() {
      for (const { review, action } of openReviews(state)) {
        const known = state.actions.get(action);
        const needs = known === undefined ? undefined : edges.find(known.action)?.needs;
        if (needs === undefined) decide(review, { answer: 'withdrawn', by: 'runtime' });
      }
    },
  };
}

const refusal = (review: Review | undefined, asked: Review): RuntimeError | undefined => {
  if (review?.answer === 'approved') return undefined;
  return review?.answer === 'rejected' ? refusedBy(review) : withdrawnReview(asked.target);
};
