import type { Cause, ReviewAnswer } from '../../events/event.ts';
import { openReviews, reviewOf } from '../../events/fold-reviews.ts';
import type { Review } from '../../events/state.ts';
import type { Clock } from '../../kernel/clock.ts';
import { createIdSource } from '../../kernel/ids.ts';
import { type RuntimeError, toRuntimeError } from '../../kernel/runtime-error.ts';
import type { ClearCall } from '../../scheduler/edges.ts';
import type { Approve, Need } from '../../targets/target.ts';
import type { SessionLog } from '../session-log.ts';
import { refusedBy, withdrawnReview } from './review-errors.ts';
import { rowOf, withoutRow } from './review-table.ts';

/** What is decided of a review, by whom. */
export interface Decided {
  readonly answer: ReviewAnswer;
  readonly by: string;
  readonly note?: string;
}

/** Questions to people: put, waited for and closed. Made when there is the first. */
export interface Asking {
  /** Puts a new question. Resolves with its answer: why the action may not start, or undefined where it may. */
  ask(call: ClearCall, need: Need | Promise<Need | undefined>): Promise<RuntimeError | undefined>;
  /** Waits for the answer to a question that was put before. */
  answered(review: Review, call: ClearCall): Promise<RuntimeError | undefined>;
  /** Puts a decision on the log, with what is consumed by it. False where the review is not open. */
  decide(review: string, decided: Decided, consumed?: readonly number[]): boolean;
  /** Whether a question is being worked out, or asked in this process: something will come of it. */
  isBusy(): boolean;
}

export interface AskingEdges {
  readonly log: SessionLog;
  readonly clock: Clock;
  /** Asks in this process; without it, whoever answers through the inbox. */
  readonly approve?: Approve | undefined;
  /** Something has changed: the session may have nothing left to do. */
  readonly changed: () => void;
}

export function createAsking({ log, clock, approve, changed }: AskingEdges): Asking {
  const { state } = log;
  const ids = createIdSource({ clock });
  /** Who waits for which review. */
  const waiting = new Map<string, () => void>();
  let busy = 0;

  const decide: Asking['decide'] = (review, { answer, by, note }, consumed) => {
    if (!openReviews(state).some((each) => each.review === review)) return false;
    const said = note === undefined ? {} : { note };
    log.append(
      { type: 'review.resolved', review, answer, by, ...said },
      answer === 'withdrawn' ? undefined : outside(state.id),
      { writes: [withoutRow(review)], ...(consumed === undefined ? {} : { consumed }) },
    );
    waiting.get(review)?.();
    return true;
  };

  const request = ({ action, input }: ClearCall, need: Need): Review => {
    const { target, what, because, grants } = need;
    const body = { review: ids.next('rev'), action: action.id, target, what, because, input, grants };
    const asked = { ...body, at: clock.now() };
    const writes = [rowOf(asked, state.id, state.agent)];
    log.append({ type: 'review.requested', ...body }, undefined, { writes });
    return asked;
  };

  const askHere = async ({ review, what, target, input }: Review, signal: AbortSignal): Promise<void> => {
    if (approve === undefined) return;
    busy++;
    try {
      const answer = await approve({ what, target, input, signal });
      if (!signal.aborted) decide(review, wordOf(answer));
    } catch (thrown) {
      const note = `nobody could be asked: ${toRuntimeError(thrown).message}`;
      if (!signal.aborted) decide(review, { answer: 'rejected', by: 'runtime', note });
    } finally {
      busy--;
      changed();
    }
  };

  const answered: Asking['answered'] = (review, { action, signal }) =>
    new Promise((resolve) => {
      const over = new AbortController();
      const settle = () => {
        waiting.delete(review.review);
        signal.removeEventListener('abort', withdraw);
        over.abort();
        resolve(refusal(reviewOf(state, action.id), review));
      };
      const withdraw = () => {
        if (!decide(review.review, { answer: 'withdrawn', by: 'runtime' })) settle();
      };
      waiting.set(review.review, settle);
      signal.addEventListener('abort', withdraw, { once: true });
      void askHere(review, over.signal);
      changed();
    });

  return {
    async ask(call, needed) {
      busy++;
      let need: Need | undefined;
      try {
        need = await needed;
      } finally {
        busy--;
        changed();
      }
      return need === undefined || call.signal.aborted ? undefined : answered(request(call, need), call);
    },
    answered,
    decide,
    isBusy: () => busy > 0,
  };
}

/** A person's word comes from outside the log: it is a beginning of its own. */
const outside = (stream: string): Cause => ({ stream, seq: 0, depth: 0 });

function wordOf(answer: Awaited<ReturnType<Approve>>): Decided {
  const { approved, by = 'approve', note } = typeof answer === 'boolean' ? { approved: answer } : answer;
  return { answer: approved ? 'approved' : 'rejected', by, ...(note === undefined ? {} : { note }) };
}

function refusal(review: Review | undefined, asked: Review): RuntimeError | undefined {
  if (review?.answer === 'approved') return undefined;
  return review?.answer === 'rejected' ? refusedBy(review) : withdrawnReview(asked.target);
}
