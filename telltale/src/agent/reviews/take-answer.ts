import type { Json } from '../../lib/json.ts';
import type { Reviews } from './create-reviews.ts';

/** The body of a message of kind `review`. The sender is in the message's `from`. */
export interface AnswerMessage {
  readonly review: string;
  readonly answer: 'approved' | 'rejected';
  /** The chosen option, for questions of workflow steps. */
  readonly choice?: string;
  readonly note?: string;
  /** For the rest of the session. */
  readonly always?: true;
  /** Distinguishes this answer from others to the same review. */
  readonly key?: string;
}

/** Undefined if the body is not an answer. */
export function readAnswerMessage(body: Json): AnswerMessage | undefined {
  const { review, answer, choice, note, always, key } = (body ?? {}) as Partial<
    Record<keyof AnswerMessage, unknown>
  >;
  if (typeof review !== 'string' || (answer !== 'approved' && answer !== 'rejected')) return undefined;
  return {
    review,
    answer,
    ...(typeof choice === 'string' ? { choice } : {}),
    ...(typeof note === 'string' ? { note } : {}),
    ...(always === true ? { always } : {}),
    ...(typeof key === 'string' ? { key } : {}),
  };
}

/** Applies an answer from the inbox. Returns false if the body is not an answer or the review is not open. */
export function takeAnswer(
  reviews: Pick<Reviews, 'decide'>,
  by: string,
  body: Json,
  consumed: readonly number[],
): boolean {
  const said = readAnswerMessage(body);
  if (said === undefined) return false;
  const { review, answer, note, always, key } = said;
  const decided = {
    answer,
    by,
    always,
    ...(note === undefined ? {} : { note }),
    ...(key === undefined ? {} : { key }),
  };
  return reviews.decide(review, decided, consumed);
}
