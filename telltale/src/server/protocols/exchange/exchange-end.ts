import type { ObservedEvent } from '../../../events/event.ts';
import { speakerOf } from '../../../events/fold-handoffs.ts';
import type { ReviewRequest } from '../../../events/review-event.ts';
import type { Json } from '../../../kernel/json.ts';
import type { ErrorJson } from '../../../kernel/runtime-error.ts';

/** How an exchange ended: from a message of the user to the session's answer. */
export type ExchangeEnd =
  | { readonly kind: 'answered'; readonly text: string }
  /** It waits for people, and does nothing else. */
  | { readonly kind: 'paused'; readonly reviews: readonly ReviewRequest[] }
  /** Somebody broke it off, or cancelled the session. */
  | { readonly kind: 'stopped'; readonly reason: string }
  | { readonly kind: 'failed'; readonly error: ErrorJson };

/** What brings an exchange about: nothing before it belongs to it. */
export type Beginning =
  /** A new session: all that happens in it. */
  | { readonly kind: 'session' }
  | { readonly kind: 'message'; readonly text: string }
  | { readonly kind: 'answers'; readonly reviews: readonly string[] };

/** Says which events belong to an exchange, and which one ends it. Pure but for its own memory. */
export interface ExchangeFold {
  /** Undefined where the event is before the beginning. */
  take(event: ObservedEvent): { readonly end?: ExchangeEnd } | undefined;
}

const REVIEW = 'review ';

/** `open`: reviews that were asked for before. `pauses`: whether waiting for people ends it. */
export function createExchangeFold(
  beginning: Beginning,
  open: readonly ReviewRequest[],
  pauses: boolean,
): ExchangeFold {
  const reviews = new Map(open.map((review) => [review.review, review]));
  let begun = beginning.kind === 'session';
  let answer: string | undefined;

  const begins = (event: ObservedEvent): boolean =>
    beginning.kind === 'message'
      ? event.type === 'message.received' && event.from === 'user' && event.text === beginning.text
      : beginning.kind === 'answers' &&
        event.type === 'review.resolved' &&
        beginning.reviews.includes(event.review);

  const endOf = (event: ObservedEvent): ExchangeEnd | undefined => {
    switch (event.type) {
      case 'session.waiting':
        if (event.for.startsWith(REVIEW))
          // What a sub-agent waits for is answered where its own session is.
          return pauses && reviews.size > 0 ? { kind: 'paused', reviews: [...reviews.values()] } : undefined;
        if (event.for !== 'message') return undefined;
        return answer === undefined
          ? { kind: 'stopped', reason: 'It was broken off.' }
          : { kind: 'answered', text: answer };
      case 'session.completed':
        return { kind: 'answered', text: answer ?? textOf(event.result) };
      case 'session.failed':
      case 'session.stalled':
        return { kind: 'failed', error: event.error };
      case 'session.cancelled':
        return { kind: 'stopped', reason: event.reason };
      default:
        return undefined;
    }
  };

  return {
    take(event) {
      if (event.type === 'review.requested') reviews.set(event.review, event);
      if (event.type === 'review.resolved') reviews.delete(event.review);
      begun ||= begins(event);
      if (!begun) return undefined;
      if (event.type === 'response' && event.final) answer = event.text;
      if (event.type === 'child.response' && speakerOf(event.action) !== undefined && event.event.final)
        answer = event.event.text;
      const end = endOf(event);
      return end === undefined ? {} : { end };
    },
  };
}

const textOf = (result: Json): string => (typeof result === 'string' ? result : JSON.stringify(result));
