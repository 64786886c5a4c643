import { encodeEvent } from '../../events/codec.ts';
import type { EventBody } from '../../events/event.ts';
import { openReviews } from '../../events/fold-reviews.ts';
import type { Clock } from '../../kernel/clock.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { StreamWriter } from '../../store/store.ts';
import { openChildren } from '../children/child-id.ts';
import { BY_PARENT } from '../children/child-result.ts';
import { closeRow } from '../reviews/review-table.ts';
import type { Runtime } from '../runtime-types.ts';
import { hasEnded } from './has-ended.ts';

export interface CancelUnowned {
  readonly reason: string;
  readonly by: string;
  readonly clock: Pick<Clock, 'now'>;
}

/**
 * Ends a session that nobody works on, as its owner would: what was open is closed on the log, then the session. False
 * where somebody has taken it meanwhile: then the inbox is the way.
 */
export async function cancelUnowned(
  runtime: Pick<Runtime, 'store' | 'state'>,
  session: string,
  { reason, by, clock }: CancelUnowned,
): Promise<boolean> {
  let writer: StreamWriter;
  try {
    writer = await runtime.store.acquire(session);
  } catch (thrown) {
    if (thrown instanceof RuntimeError && thrown.code === 'stream_owned') return false;
    throw thrown;
  }
  try {
    const state = await runtime.state(session);
    // Those that work for it are over before it is.
    for (const child of openChildren(state)) {
      const known = await runtime.store.info(child);
      if (known !== undefined && known.head > 0 && known.owner === undefined && !hasEnded(known.status))
        await cancelUnowned(runtime, child, { reason, by: BY_PARENT, clock });
    }
    const reviews = openReviews(state).map(({ review }) => review);
    const withdrawn = reviews.map(
      (review): EventBody => ({
        ...{ type: 'review.resolved', review, answer: 'withdrawn', by },
        note: `The session was cancelled: ${reason}`,
      }),
    );
    const ended: EventBody[] = [...state.open].map((id) => ({
      type: 'action.cancelled',
      id,
      reason: `The session was cancelled: ${reason}`,
    }));
    const bodies = [...withdrawn, ...ended];
    const cut = { code: 'cancelled', message: 'The session was cancelled.', retryable: false };
    if (state.turnOpen) bodies.push({ type: 'turn.failed', error: cut });
    bodies.push({ type: 'session.cancelled', reason, by });
    // It comes from outside the log: a person asked for it.
    const head = { at: clock.now(), session, turn: state.turn, cause: { stream: session, seq: 0, depth: 0 } };
    const events = bodies.map((body, index) => encodeEvent({ ...head, seq: state.seq + 1 + index }, body));
    await new Promise<void>((resolve, reject) =>
      writer.append(
        { expectedSeq: state.seq, events, status: 'cancelled', ...writesOf(reviews, session) },
        (error) => (error === undefined ? resolve() : reject(error)),
      ),
    );
    return true;
  } finally {
    await writer.release();
  }
}

const writesOf = (reviews: readonly string[], session: string) =>
  reviews.length === 0 ? {} : { writes: reviews.flatMap((review) => closeRow(review, session)) };
