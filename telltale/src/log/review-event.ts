import type { Covered } from '../lib/approved-files.ts';
import type { JsonObject } from '../lib/json.ts';

/** What an approval for the rest of the session is for. */
export interface StandingOffer {
  /** The same for all calls that it covers. */
  readonly key: string;
  /** The same in words: `every call of tool "deploy", whatever its parameters`. */
  readonly covers: string;
}

/** What a person is asked about an action before it may start. */
export interface ReviewRequest extends Covered {
  readonly review: string;
  readonly action: string;
  /** `tool "deploy"`. */
  readonly target: string;
  /** What it would do, in a few words. */
  readonly what: string;
  /** What of the manifest demands it. */
  readonly because: string;
  /** The resolved parameters: what is approved is what is done. */
  readonly input: JsonObject;
  /** What the approval is for, as the target will look for it. */
  readonly grants: readonly string[];
  /** The hash of what runs: an approval of one definition is none of another. */
  readonly definition?: string;
  /** What it may be approved for, for the rest of the session. Absent where each call has to be asked about. */
  readonly always?: StandingOffer;
  /** The review in whose place it is asked, and what is no longer as it was there. */
  readonly replaces?: ReplacedReview;
}

export interface ReplacedReview {
  readonly review: string;
  readonly changed: readonly string[];
}

/** `withdrawn`: the action ended before anybody answered. */
export type ReviewAnswer = 'approved' | 'rejected' | 'withdrawn';

/** What people were asked, and what they said. */
export type ReviewEventBody =
  | ({ readonly type: 'review.requested' } & ReviewRequest)
  | {
      readonly type: 'review.resolved';
      readonly review: string;
      readonly answer: ReviewAnswer;
      readonly by: string;
      readonly note?: string;
      /** Approved for the rest of the session: what `always` of the question covers is not asked about again. */
      readonly always?: true;
      /** The review that was approved for the rest of the session, where this answer follows from it. */
      readonly standing?: string;
      /** Which of the answers that were sent it is: whoever sent another hears that theirs does not count. */
      readonly key?: string;
      /** Nobody worked on the session since the event before: its time stood still. */
      readonly away?: true;
    }
  /** What was approved is not what would run any more: the approval counts no longer. */
  | { readonly type: 'review.voided'; readonly review: string; readonly changed: readonly string[] };
