import type { Json } from '../../kernel/json.ts';
import type { Reviews } from './create-reviews.ts';

/** The body of a message of kind `review`; who sends it is the message's `from`. */
export interface AnswerMessage {
  readonly review: string;
  readonly answer: 'approved' | 'rejected';
  /** Of a workflow's step: which of its options. */
  readonly choice?: string;
  readonly note?: string;
}

/** Takes an answer from the inbox. False where it is none, or for a review that is not open: then it is only noted. */
export function takeAnswer(
  reviews: Pick<Reviews, 'decide'>,
  by: string,
  body: Json,
  consumed: readonly number[],
): boolean {
  const { review, answer, note } = (body ?? {}) as Partial<Record<keyof AnswerMessage, unknown>>;
  if (typeof review !== 'string' || (answer !== 'approved' && answer !== 'rejected')) return false;
  return reviews.decide(review, { answer, by, ...(typeof note === 'string' ? { note } : {}) }, consumed);
}
