import { encodeEvent } from '../../events/codec.ts';
import { openReviews } from '../../events/fold-reviews.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Store, StreamWriter } from '../../store/store.ts';
import type { Answer } from '../../targets/target.ts';
import { readEvents, readSession } from '../read-session.ts';
import { writeRunAnswer } from '../runs/answer-run.ts';
import { takeUnowned } from '../runs/post-to-run.ts';
import { mustBeOption, reviewAnswered, reviewUnknown } from './review-errors.ts';
import { findReview, listReviews, type OpenReview, withoutRow } from './review-table.ts';
import type { AnswerMessage } from './take-answer.ts';

/** What became of an answer. */
export interface AnsweredReview {
  readonly review: OpenReview;
  /** `resolved`: it is on the log. `delivered`: it waits in the inbox of the process that works on the session. */
  readonly outcome: 'resolved' | 'delivered';
  /** The process that works on the session; without one it has to be resumed. */
  readonly pid?: number;
}

/** How long an answer waits for the session's process to take it. */
const TAKEN_MS = 2_000;

/**
 * Answers an open review, once: whoever is second is refused. Where nobody works on the session the answer goes onto
 * its log at once, else through its inbox.
 */
export async function answerReview(
  store: Store,
  clock: Clock,
  id: string,
  { approved, choice, by = 'api', note }: Answer,
): Promise<AnsweredReview> {
  const review = await findReview(store, id);
  if (review === undefined)
    throw reviewUnknown(
      id,
      (await listReviews(store)).map((each) => each.review),
    );
  const answer = approved ? 'approved' : 'rejected';
  mustBeOption(review, choice);
  const said: AnswerMessage = {
    review: id,
    answer,
    ...(choice === undefined ? {} : { choice }),
    ...(note === undefined ? {} : { note }),
  };
  const writer = await takeUnowned(store, review.session);
  if (writer !== undefined) {
    try {
      if ((await store.info(review.session))?.kind === 'run')
        await writeRunAnswer({ store, clock }, writer, said, by);
      else await writeAnswer(store, clock, writer, said, by);
    } finally {
      await writer.release();
    }
    return { review, outcome: 'resolved' };
  }
  await store.send(review.session, { kind: 'review', from: by, body: { ...said } });
  const pid = (await store.info(review.session))?.owner?.pid;
  const outcome = (await isTaken(store, clock, review)) ? 'resolved' : 'delivered';
  if (outcome === 'resolved' && review.options === undefined) await mustBeOurs(store, review, said, by);
  return { review, outcome, ...(pid === undefined ? {} : { pid }) };
}

async function writeAnswer(
  store: Store,
  clock: Clock,
  writer: StreamWriter,
  { review, answer, note }: AnswerMessage,
  by: string,
): Promise<void> {
  const session = writer.stream;
  const state = await readSession(store, session);
  if (!openReviews(state).some((each) => each.review === review)) throw reviewAnswered(review, 'by another');
  // A person's word comes from outside the log: it is a beginning of its own.
  const cause = { stream: session, seq: 0, depth: 0 };
  const head = { seq: state.seq + 1, at: clock.now(), session, turn: state.turn, cause };
  const body = {
    type: 'review.resolved',
    review,
    answer,
    by,
    ...(note === undefined ? {} : { note }),
  } as const;
  const append = {
    expectedSeq: state.seq,
    events: [encodeEvent(head, body)],
    status: 'running', // it would go on if somebody worked on it
    writes: [withoutRow(review)],
  };
  await new Promise<void>((resolve, reject) =>
    writer.append(append, (error) => (error === undefined ? resolve() : reject(error))),
  );
}

/** Waits a moment for the review to be closed. */
async function isTaken(store: Store, clock: Clock, { review, session }: OpenReview): Promise<boolean> {
  const until = clock.monotonic() + TAKEN_MS;
  for (;;) {
    if ((await findReview(store, review)) === undefined) return true;
    const left = until - clock.monotonic();
    if (left <= 0) return false;
    await new Promise<void>((resolve) => {
      const wake = () => {
        stop();
        disarm();
        resolve();
      };
      const stop = store.watch(session, wake);
      const disarm = clock.after(Math.min(left, 200), wake);
    });
  }
}

/** Somebody else may have been quicker. */
async function mustBeOurs(
  store: Store,
  { review, session }: OpenReview,
  { answer }: AnswerMessage,
  by: string,
): Promise<void> {
  const events = await readEvents(store, session);
  const last = events.findLast((event) => event.type === 'review.resolved' && event.review === review);
  if (last?.type !== 'review.resolved' || (last.answer === answer && last.by === by)) return;
  throw reviewAnswered(review, `${last.answer} by ${last.by}`);
}
