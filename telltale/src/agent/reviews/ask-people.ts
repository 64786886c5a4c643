import { coveredOf } from '../../lib/approved-files.ts';
import type { Clock } from '../../lib/clock.ts';
import { RuntimeError, toRuntimeError } from '../../lib/errors.ts';
import { createIdSource } from '../../lib/ids.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { Cause } from '../../log/event.ts';
import type { ReplacedReview, ReviewAnswer } from '../../log/review-event.ts';
import { openReviews, reviewOf, voidedReviewOf } from '../../log/reviews.ts';
import type { Review, StandingApproval } from '../../log/state.ts';
import type { ApprovalCall } from '../../scheduler/scheduler-deps.ts';
import { type ApprovalScope, approvalScope, changesSince } from '../../tools/access/approval-need.ts';
import type { ApprovalNeed, Approve, Target } from '../../tools/target.ts';
import type { SessionLog } from '../session-log.ts';
import { approvalVoid, closeRow, refusedBy, rowOfSession, withdrawnReview } from './review-table.ts';

export function createPermissionRequests({
  log,
  clock,
  agent,
  approve,
  changed,
}: PermissionRequestsDeps): PermissionRequests {
  const { state } = log;
  const ids = createIdSource({ clock });
  /** Callbacks that wait for a review. */
  const waiting = new Map<string, () => void>();
  let busy = 0;

  const decide: PermissionRequests['decide'] = (review, decided, consumed) => {
    const { answer, by, note, always, standing, key } = decided;
    const open = openReviews(state).find((each) => each.review === review);
    if (open === undefined) return false;
    const isForAll = always === true && answer === 'approved' && open.always !== undefined;
    const said = {
      ...(note === undefined ? {} : { note }),
      ...(isForAll ? ({ always: true } as const) : {}),
      ...(standing === undefined ? {} : { standing }),
      ...(key === undefined ? {} : { key }),
    };
    log.append(
      { type: 'review.resolved', review, answer, by, ...said },
      answer === 'withdrawn' || standing !== undefined ? undefined : outside(state.id),
      { writes: closeRow(review, state.id), ...(consumed === undefined ? {} : { consumed }) },
    );
    waiting.get(review)?.();
    if (isForAll) settleOthers();
    return true;
  };

  /** Answers other open questions that a session-wide approval covers. */
  const settleOthers = () => {
    for (const other of openReviews(state)) answerFromStanding(other);
  };

  /** Answers a question by a session-wide approval. Returns false if there is none. */
  const answerFromStanding = (asked: Review): boolean => {
    const given = standingFor(state.standing, asked);
    if (given === undefined) return false;
    decide(asked.review, { answer: 'approved', by: given.by, note: STANDS, standing: given.review });
    return true;
  };

  const request = (
    { action }: ApprovalCall,
    { what, because, always }: ApprovalNeed,
    bound: ApprovalScope,
    before: ReplacedReview | undefined,
  ): Review => {
    const body = {
      review: ids.next('rev'),
      action: action.id,
      what,
      because,
      ...bound,
      ...(always === undefined ? {} : { always }),
      ...(before === undefined ? {} : { replaces: before }),
    };
    const asked = { ...body, at: clock.now() };
    log.append({ type: 'review.requested', ...body }, undefined, { writes: [rowOfSession(asked, state)] });
    return asked;
  };

  const bindNow = async ({ target, input }: CallForReview): Promise<Bound | undefined> => {
    const need = await target.needs?.(input, { agent });
    return need === undefined ? undefined : { need, bound: approvalScope(target, need, input) };
  };
  const setAside = ({ review, answer }: Review, changed: readonly string[]): ReplacedReview => {
    if (answer === 'approved') log.append({ type: 'review.voided', review, changed });
    else
      decide(review, { answer: 'withdrawn', by: 'runtime', note: `it is asked anew: ${changed.join('; ')}` });
    return { review, changed };
  };

  const askHere = async (asked: Review, signal: AbortSignal): Promise<void> => {
    const { review, what, target, input, replaces, always } = asked;
    if (approve === undefined) return;
    busy++;
    try {
      const answer = await approve({
        what,
        target,
        input,
        signal,
        ...(always && { always: always.covers }),
        ...(replaces && { changed: replaces.changed }),
        ...coveredOf(asked),
      });
      if (!signal.aborted) decide(review, decisionOf(answer));
    } catch (thrown) {
      const note = `it was not possible to ask a person: ${toRuntimeError(thrown).message}`;
      if (!signal.aborted) decide(review, { answer: 'rejected', by: 'runtime', note });
    } finally {
      busy--;
      changed();
    }
  };

  const answered = (review: Review, { action, signal }: ApprovalCall): Promise<RuntimeError | undefined> =>
    new Promise((resolve) => {
      const over = new AbortController();
      const settle = () => {
        waiting.delete(review.review);
        signal.removeEventListener('abort', withdraw);
        over.abort();
        resolve(refusal(reviewOf(state, action.id), review));
      };
      const withdraw = () => {
        if (!decide(review.review, { answer: 'withdrawn', by: 'runtime', note: CANCELLED })) settle();
      };
      waiting.set(review.review, settle);
      signal.addEventListener('abort', withdraw, { once: true });
      void askHere(review, over.signal);
      changed();
    });

  /** Asks a question, unless a session-wide approval answers it. */
  const put = async (
    call: CallForReview & ApprovalCall,
    need: ApprovalNeed,
    bound: ApprovalScope,
    before: ReplacedReview | undefined,
  ): Promise<RuntimeError | undefined> => {
    const asked = request(call, need, bound, before);
    return answerFromStanding(asked) ? undefined : answered(asked, call);
  };

  return {
    async ask(call, needed) {
      busy++;
      let need: ApprovalNeed | undefined;
      try {
        need = await needed;
      } finally {
        busy--;
        changed();
      }
      if (need === undefined || call.signal.aborted) return undefined;
      const { review, voided = [] } = voidedReviewOf(state, call.action.id) ?? {};
      const before = review === undefined ? undefined : { review, changed: voided };
      return put(call, need, approvalScope(call.target, need, call.input), before);
    },
    async askAgain(asked, call) {
      const withdraw = (note: string) =>
        void decide(asked.review, { answer: 'withdrawn', by: 'runtime', note });
      let found: Bound | undefined;
      busy++;
      try {
        found = await bindNow(call);
      } catch (thrown) {
        withdraw(toRuntimeError(thrown).message);
        throw thrown;
      } finally {
        busy--;
        changed();
      }
      const known = reviewOf(state, call.action.id) ?? asked; // it may have been answered meanwhile
      if (known.answer === 'rejected') return refusedBy(known);
      if (found === undefined || call.signal.aborted) {
        withdraw(found === undefined ? 'no approval is needed any more' : CANCELLED);
        return undefined;
      }
      const changes = changesSince(known, found.bound);
      if (changes.length > 0) return put(call, found.need, found.bound, setAside(known, changes));
      return known.answer === 'approved' || answerFromStanding(known) ? undefined : answered(known, call);
    },
    async confirm(known, call) {
      const found = await bindNow(call);
      const changes = found === undefined ? [] : changesSince(known, found.bound);
      if (changes.length === 0) return known.grants;
      setAside(known, changes);
      throw approvalVoid(known.target, changes);
    },
    decide,
    isBusy: () => busy > 0,
  };
}

interface Bound {
  readonly need: ApprovalNeed;
  readonly bound: ApprovalScope;
}

const CANCELLED = 'the action was cancelled';
const STANDS = 'approved for this session before';

/**
 * Finds a session-wide approval that covers this call: the same target, the same offer, the same definition
 * of what runs, and no file that differs from the approved ones.
 */
function standingFor(
  standing: readonly StandingApproval[] = [],
  { always, target, definition, grants }: Review,
): StandingApproval | undefined {
  if (always === undefined) return undefined;
  const files = grants.filter(isOfFiles);
  return standing.find(
    (given) =>
      given.target === target &&
      given.offer.key === always.key &&
      given.definition === definition &&
      files.every((grant) => given.grants.includes(grant)) &&
      given.grants.filter(isOfFiles).every((grant) => files.includes(grant)),
  );
}

/** Whether the grant is for files with a certain content. */
const isOfFiles = (grant: string): boolean => grant.startsWith('files ');

/** An answer of a person comes from outside the log, so it has no cause there. */
const outside = (stream: string): Cause => ({ stream, seq: 0, depth: 0 });

function decisionOf(answer: Awaited<ReturnType<Approve>>): ReviewDecision {
  if (typeof answer !== 'boolean' && typeof Object(answer).approved !== 'boolean') throw noAnswer(answer);
  const {
    approved,
    by = 'approve',
    note,
    always,
  } = typeof answer === 'boolean' ? { approved: answer } : answer;
  return { answer: approved ? 'approved' : 'rejected', by, always, ...(note === undefined ? {} : { note }) };
}

/** A JavaScript program may forget to return an answer. That is not an approval. */
const noAnswer = (answer: unknown) =>
  new RuntimeError('bad_option', `"approve" gave no answer, but ${typeof answer}`, {
    hint: 'Return true, false, or { approved, by, note }.',
  });

function refusal(review: Review | undefined, asked: Review): RuntimeError | undefined {
  if (review?.answer === 'approved') return undefined;
  return review?.answer === 'rejected' ? refusedBy(review) : withdrawnReview(asked.target);
}

/** The decision on a review. */
export interface ReviewDecision {
  readonly answer: ReviewAnswer;
  readonly by: string;
  readonly note?: string;
  /** For the rest of the session. Ignored if the question does not offer that. */
  readonly always?: boolean | undefined;
  /** The session-wide approval that this answer follows from. */
  readonly standing?: string;
  readonly key?: string;
}

/** The call of an action that a review is about. */
export interface CallForReview extends Omit<ApprovalCall, 'signal'> {
  readonly target: Pick<Target, 'needs' | 'definition'>;
}

/** Asks people for permissions. Created with the first question. */
export interface PermissionRequests {
  /** Asks a new question. Resolves with the reason why the action may not start, or undefined if it may. */
  ask(
    call: CallForReview & ApprovalCall,
    need: ApprovalNeed | Promise<ApprovalNeed | undefined>,
  ): Promise<RuntimeError | undefined>;
  /** Asks an earlier question again. If the call has changed, a new question replaces it. */
  askAgain(known: Review, call: CallForReview & ApprovalCall): Promise<RuntimeError | undefined>;
  /**
   * Resolves with the grants of an approved call. Rejects if the call has changed, which voids the approval.
   */
  confirm(known: Review, call: CallForReview): Promise<readonly string[]>;
  /**
   * Writes a decision to the log, with the messages that it consumes. Returns false if the review is not
   * open.
   */
  decide(review: string, decided: ReviewDecision, consumed?: readonly number[]): boolean;
  /** Whether a question is being prepared or asked in this process. */
  isBusy(): boolean;
}

export interface PermissionRequestsDeps {
  readonly log: SessionLog;
  readonly clock: Clock;
  readonly agent: () => JsonObject;
  /** Asks in this process. Without it, answers come through the inbox. */
  readonly approve?: Approve | undefined;
  /** Called when the session may have nothing left to do. */
  readonly changed: () => void;
}
