import type { Json } from '../../lib/json.ts';
import type { Reviews } from './create-reviews.ts';

/** The body of a message of kind `review`; who sends it is the message's `from`. */
export interface AnswerMessage {
  readonly review: string;
  readonly answer: 'approved' | 'rejected';
  /** Of a workflow's step: which of its options. */
  readonly choice?: string;
  readonly note?: string;
  /** For the rest of the session. */
  readonly always?: true;
  /** Tells it from other answers to the same review. */
  readonly key?: string;
}

/** Undefined where it is none. */
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

/** Takes an answer from the inbox. False where it is none, or for a review that is not open: then it is only noted. */
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
