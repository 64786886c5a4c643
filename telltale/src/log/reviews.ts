import { type Covered, coveredOf } from '../lib/approved-files.ts';
import type { EventOf } from './event.ts';
import type { ApprovalRequest } from './run-event.ts';
import type { Review, SessionState } from './state.ts';

export function request(state: SessionState, event: EventOf<'review.requested'>): void {
  const { review, action, target, what, because, input, grants, definition, always, replaces, at } = event;
  state.reviews = [
    ...state.reviews,
    {
      review,
      action,
      target,
      what,
      because,
      input,
      grants,
      at,
      ...(definition === undefined ? {} : { definition }),
      ...(always === undefined ? {} : { always }),
      ...(replaces === undefined ? {} : { replaces }),
      ...coveredOf(event),
    },
  ];
}

/** The first answer counts. */
export function resolve(state: SessionState, event: EventOf<'review.resolved'>): void {
  if (state.status === 'waiting') state.status = 'running';
  const { answer, by, note } = event;
  if (answer === 'approved' && event.always === true) stand(state, event);
  state.reviews = state.reviews.map((each) =>
    each.review === event.review && each.answer === undefined
      ? { ...each, answer, by, ...(note === undefined ? {} : { note }) }
      : each,
  );
}

/** A session that was forked has none of the approvals of the one it was forked from. */
function stand(state: SessionState, { review, seq, by }: EventOf<'review.resolved'>): void {
  const asked = state.reviews.find((each) => each.review === review && each.answer === undefined);
  if (asked?.always === undefined || seq <= (state.forkedAt ?? 0)) return;
  const { target, grants, definition, always: offer } = asked;
  const of = definition === undefined ? {} : { definition };
  state.standing = [...(state.standing ?? []), { review, target, grants, offer, by, ...of }];
}

export function voidReview(state: SessionState, { review, changed }: EventOf<'review.voided'>): void {
  state.reviews = state.reviews.map((each) => (each.review === review ? { ...each, voided: changed } : each));
}

/** Its action has ended: nothing is left to ask, and nothing to allow. */
export function forgetReviews(state: SessionState, action: string): void {
  if (state.reviews.length > 0) state.reviews = state.reviews.filter((each) => each.action !== action);
}

export const openReviews = ({ reviews }: Pick<SessionState, 'reviews'>): readonly Review[] =>
  reviews.filter(({ answer }) => answer === undefined);

/** What was asked about an action, if anything was that still counts. */
export const reviewOf = ({ reviews }: Pick<SessionState, 'reviews'>, action: string): Review | undefined =>
  reviews.find((each) => each.action === action && each.answer !== 'withdrawn' && each.voided === undefined);

/** What was approved last of an action and counts no longer. */
export const voidedReviewOf = (
  { reviews }: Pick<SessionState, 'reviews'>,
  action: string,
): Review | undefined => reviews.findLast((each) => each.action === action && each.voided !== undefined);

/** An open review, as it is listed over all sessions and runs. */
export interface OpenReview extends Pick<Covered, 'uncovered'> {
  readonly review: string;
  readonly kind: ReviewKind;
  /** Whose question it is: `session` is the id of either. */
  readonly of: 'session' | 'run';
  readonly session: string;
  readonly agent: string;
  /** Of a run. */
  readonly workflow?: string;
  /** The session that a run belongs to, the run that called it, or who called the sub-agent. */
  readonly parent?: string;
  /** The sessions and runs above it, the closest first: who called or triggered it. Only where there are any. */
  readonly above?: readonly string[];
  /** The action of a session, or the step of a run. */
  readonly action: string;
  readonly target: string;
  /** What would be done, or the question, cut to a bounded size: the log has all of it. */
  readonly what: string;
  /** The parameters of a call as JSON, cut to a bounded size. */
  readonly parameters?: string;
  readonly because: string;
  /** What it may be approved for, for the rest of the session. Absent where each call has to be asked about. */
  readonly always?: string;
  /** The answers that a run's step gives to choose from. */
  readonly options?: readonly string[];
  /** Who is asked, where it is somebody in particular. */
  readonly assignee?: string;
  /** When it is too late, in milliseconds since the Unix epoch. */
  readonly due?: number;
  /** When it was asked, in milliseconds since the Unix epoch. */
  readonly at: number;
}

/**
 * What a person is asked for: leave for an action of a session or a call of a step; the answer of an `approval` step;
 * whether a step may begin; whether a plan may be executed; what agent and verifier could not settle.
 */
export type ReviewKind = 'permission' | 'approval' | 'confirm' | 'plan' | 'escalation';

export const REVIEW_KINDS: readonly ReviewKind[] = [
  'permission',
  'approval',
  'confirm',
  'plan',
  'escalation',
];

/** The kind of a question of a run; those of sessions ask for permission. */
export const kindOfRequest = ({ kind, call }: Pick<ApprovalRequest, 'kind' | 'call'>): ReviewKind =>
  kind ?? (call === undefined ? 'approval' : 'permission');
