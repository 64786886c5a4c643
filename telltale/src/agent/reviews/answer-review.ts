import { readRun, readRunEvents } from '../../engine/read-run.ts';
import type { Clock } from '../../lib/clock.ts';
import { createIdSource } from '../../lib/ids.ts';
import { encodeEvent } from '../../log/codec.ts';
import { type OpenReview, openReviews } from '../../log/reviews.ts';
import { QUARANTINED } from '../../store/quarantine.ts';
import type { InboxMessage, Store, StreamWriter } from '../../store/store.ts';
import { readEvents, readSession } from '../read-session.ts';
import { acquireUnowned } from '../runs/run-inbox.ts';
import { writeRunAnswer } from '../runs/run-questions.ts';
import { type ReviewReply, readReply, readReview } from './read-review.ts';
import { closeRow, findReview, reviewClosed, reviewOver, reviewUnknown } from './review-table.ts';
import { type AnswerMessage, readAnswerMessage } from './take-answer.ts';

/** The result of answering a review. */
export interface AnsweredReview {
  readonly review: OpenReview;
  readonly answer: 'approved' | 'rejected';
  readonly choice?: string;
  /**
   * `resolved`: the answer is on the log. `delivered`: it is in the inbox of the process that works on the
   * session.
   */
  readonly outcome: 'resolved' | 'delivered';
  /** The process that works on the session. If absent, the session has to be resumed. */
  readonly pid?: number;
}

/** How long to wait for the session's process to receive the answer. */
const TAKEN_MS = 2_000;
/** How often to check meanwhile. */
const LOOK_MS = 200;

/**
 * Answers an open review. Only one answer counts, also if two arrive at the same moment. If nobody works on
 * the session, the answer goes to its log at once, otherwise through its inbox.
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
    const writer = await acquireUnowned(store, session);
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
    await waitForChange(store, clock, session, Math.min(until - clock.monotonic(), LOOK_MS));
    if ((await findReview(store, id)) === undefined) {
      await assertOurAnswer(store, review, said.key);
      return { ...became, outcome: 'resolved', ...owner };
    }
    if (clock.monotonic() >= until) return { ...became, outcome: 'delivered', ...owner };
  }
}

async function whyClosed(store: Store, id: string): Promise<Error> {
  const { session, decision } = await readReview(store, id);
  return decision === undefined ? reviewUnknown(id, []) : reviewClosed(id, session, decision);
}

/** Resolves when the stream may have changed, or after that time. */
function waitForChange(store: Store, clock: Clock, stream: string, ms: number): Promise<void> {
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

interface AnswerReviewDeps {
  readonly store: Store;
  readonly clock: Clock;
}

/** An answer for the log, with its author and the messages that it consumes. */
interface AnswerToWrite {
  readonly said: AnswerMessage;
  readonly by: string;
  readonly consumed: readonly number[];
}

/**
 * Writes an answer to the log of a session or run that nobody works on. An earlier answer or cancellation in
 * its inbox takes precedence. Throws if another answer counts.
 */
async function writeAnswer(
  deps: AnswerReviewDeps,
  writer: StreamWriter,
  review: OpenReview,
  said: AnswerMessage,
  { by, sent }: { readonly by: string; readonly sent: number | undefined },
): Promise<void> {
  const { store } = deps;
  const { session } = review;
  const inbox = await writer.inbox();
  const isEarlier = ({ id }: InboxMessage) => sent === undefined || id < sent;
  const cancels = inbox.find((message) => message.kind === 'cancel' && isEarlier(message));
  const earlier = inbox.find(
    (message) => isEarlier(message) && readAnswerMessage(message.body)?.review === review.review,
  );
  const consumed = inbox.some(({ id }) => id === sent) ? [sent as number] : [];
  if (cancels !== undefined)
    throw reviewOver(review.review, session, `is being cancelled by ${cancels.from}`);
  const first = earlier === undefined ? undefined : readAnswerMessage(earlier.body);
  const given: AnswerToWrite =
    earlier === undefined || first === undefined
      ? { said, by, consumed }
      : { said: first, by: earlier.from, consumed: [earlier.id, ...consumed] };
  const status = await (review.of === 'run' ? onRun : onSession)(deps, writer, given);
  if (status !== undefined) throw reviewOver(review.review, session, `has ended as ${status}`);
  await assertOurAnswer(store, review, said.key);
}

/** Writes the answer to a run. Returns the status of a run that has ended, without writing. */
async function onRun(
  deps: AnswerReviewDeps,
  writer: StreamWriter,
  given: AnswerToWrite,
): Promise<string | undefined> {
  const state = await readRun(deps.store, writer.stream);
  if (state.status !== 'running' && state.status !== 'waiting') return state.status;
  if (state.cancelling !== undefined) return 'cancelled';
  await writeRunAnswer(deps, writer, state, given);
  return undefined;
}

async function onSession(
  { store, clock }: AnswerReviewDeps,
  writer: StreamWriter,
  { said, by, consumed }: AnswerToWrite,
): Promise<string | undefined> {
  const session = writer.stream;
  const [state, info] = await Promise.all([readSession(store, session), store.info(session)]);
  const { status } = state;
  if (status === 'completed' || status === 'failed' || status === 'cancelled') return status;
  const { review, answer, note, always, key } = said;
  const open = openReviews(state).find((each) => each.review === review);
  if (open === undefined) return undefined;
  // An answer of a person comes from outside the log, so it has no cause there.
  const cause = { stream: session, seq: 0, depth: 0 };
  const head = { seq: state.seq + 1, at: clock.now(), session, turn: state.turn, cause };
  const body = {
    ...({ type: 'review.resolved', review, answer, by } as const),
    ...(note === undefined ? {} : { note }),
    ...(always === true && answer === 'approved' && open.always !== undefined ? { always } : {}),
    ...(key === undefined ? {} : { key }),
    ...(status === 'running' ? ({ away: true } as const) : {}), // its process has died
  };
  const append = {
    expectedSeq: state.seq,
    events: [encodeEvent(head, body)],
    // The session is ready to continue. An answer does not lift a quarantine.
    status: info?.status === QUARANTINED ? QUARANTINED : 'running',
    consumed,
    writes: closeRow(review, session),
  };
  await new Promise<void>((resolve, reject) =>
    writer.append(append, (error) => (error === undefined ? resolve() : reject(error))),
  );
  return undefined;
}

/** Throws if the answer on the log is not this one. */
async function assertOurAnswer(
  store: Store,
  { review, session, of }: Pick<OpenReview, 'review' | 'session' | 'of'>,
  key: string | undefined,
): Promise<void> {
  const events = await (of === 'run' ? readRunEvents(store, session) : readEvents(store, session));
  for (const event of events) {
    if (event.type !== 'review.resolved' || event.review !== review) continue;
    if (event.key === key) return;
    throw reviewClosed(review, session, event);
  }
}
