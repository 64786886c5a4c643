import type { OpenReview } from '../../events/open-review.ts';
import type { Clock } from '../../kernel/clock.ts';
import { createIdSource } from '../../kernel/ids.ts';
import type { Store } from '../../store/store.ts';
import { takeUnowned } from '../runs/post-to-run.ts';
import { mustBeOurs } from './must-be-ours.ts';
import { type ReviewReply, readReply } from './read-reply.ts';
import { readReview } from './read-review.ts';
import { reviewClosed, reviewUnknown } from './review-errors.ts';
import { findReview } from './review-table.ts';
import type { AnswerMessage } from './take-answer.ts';
import { writeAnswer } from './write-answer.ts';

/** What became of an answer. */
export interface AnsweredReview {
  readonly review: OpenReview;
  readonly answer: 'approved' | 'rejected';
  readonly choice?: string;
  /** `resolved`: it is on the log. `delivered`: it waits in the inbox of the process that works on the session. */
  readonly outcome: 'resolved' | 'delivered';
  /** The process that works on the session; without one it has to be resumed. */
  readonly pid?: number;
}

/** How long an answer waits for the session's process to take it. */
const TAKEN_MS = 2_000;
/** How often it is looked for meanwhile, where nobody tells. */
const LOOK_MS = 200;

/**
 * Answers an open review, once: whoever is second is refused, also at the same instant. Where nobody works on the
 * session the answer goes onto its log at once, else through its inbox.
 */
export async function answerReview(
  store: Store,
  clock: Clock,
  id: string,
  reply: ReviewReply,
): Promise<AnsweredReview> {
  const review = await findReview(store, id);
  if (review === undefined) throw await whyClosed(store, id);
  const { session } = review;
  const { by = 'api' } = reply;
  const read = readReply(review, reply);
  const said: AnswerMessage = { review: id, ...read, key: createIdSource({ clock }).next('ans') };
  const { answer, choice } = read;
  const became = { review, answer, ...(choice === undefined ? {} : { choice }) };
  const until = clock.monotonic() + TAKEN_MS;
  let sent: number | undefined;
  let pid: number | undefined;
  for (;;) {
    const writer = await takeUnowned(store, session);
    if (writer !== undefined) {
      try {
        await writeAnswer({ store, clock }, writer, review, said, { by, sent });
      } finally {
        await writer.release();
      }
      return { ...became, outcome: 'resolved' };
    }
    sent ??= await store.send(session, { kind: 'review', from: by, body: { ...said } });
    pid = (await store.info(session))?.owner?.pid ?? pid;
    const owner = pid === undefined ? {} : { pid };
    await moves(store, clock, session, Math.min(until - clock.monotonic(), LOOK_MS));
    if ((await findReview(store, id)) === undefined) {
      await mustBeOurs(store, review, said.key);
      return { ...became, outcome: 'resolved', ...owner };
    }
    if (clock.monotonic() >= until) return { ...became, outcome: 'delivered', ...owner };
  }
}

async function whyClosed(store: Store, id: string): Promise<Error> {
  const { session, decision } = await readReview(store, id);
  return decision === undefined ? reviewUnknown(id, []) : reviewClosed(id, session, decision);
}

/** Resolves when something may have come onto the stream, or after that time. */
function moves(store: Store, clock: Clock, stream: string, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const wake = () => {
      stop();
      disarm();
      resolve();
    };
    const stop = store.watch(stream, wake);
    const disarm = clock.after(Math.max(0, ms), wake);
  });
}
