import type { Covered } from '../kernel/approved-files.ts';
import type { ReviewKind } from './review-kind.ts';

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
