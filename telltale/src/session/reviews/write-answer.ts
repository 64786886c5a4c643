import { readRun } from '../../engine/read-run.ts';
import { encodeEvent } from '../../events/codec.ts';
import { openReviews } from '../../events/fold-reviews.ts';
import type { OpenReview } from '../../events/open-review.ts';
import type { Clock } from '../../kernel/clock.ts';
import { QUARANTINED } from '../../store/quarantine.ts';
import type { InboxMessage, Store, StreamWriter } from '../../store/store.ts';
import { readSession } from '../read-session.ts';
import { writeRunAnswer } from '../runs/answer-run.ts';
import { mustBeOurs } from './must-be-ours.ts';
import { reviewOver } from './review-errors.ts';
import { closeRow } from './review-table.ts';
import { type AnswerMessage, readAnswerMessage } from './take-answer.ts';

interface Deps {
  readonly store: Store;
  readonly clock: Clock;
}

/** The answer as it goes onto the log: whose it is, and the messages that it stands for. */
interface Given {
  readonly said: AnswerMessage;
  readonly by: string;
  readonly consumed: readonly number[];
}

/**
 * Puts an answer on the log of a session or run that nobody works on. What others put into its inbox before counts
 * first: another answer, or that it is to be cancelled. Throws where it is not ours that counts.
 */
export async function writeAnswer(
  deps: Deps,
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
  const given: Given =
    earlier === undefined || first === undefined
      ? { said, by, consumed }
      : { said: first, by: earlier.from, consumed: [earlier.id, ...consumed] };
  const status = await (review.of === 'run' ? onRun : onSession)(deps, writer, given);
  if (status !== undefined) throw reviewOver(review.review, session, `has ended as ${status}`);
  await mustBeOurs(store, review, said.key);
}

/** Gives how it has ended, where it has: then nothing is written. Nothing is where the review is not open, either. */
async function onRun(deps: Deps, writer: StreamWriter, given: Given): Promise<string | undefined> {
  const state = await readRun(deps.store, writer.stream);
  if (state.status !== 'running' && state.status !== 'waiting') return state.status;
  if (state.cancelling !== undefined) return 'cancelled';
  await writeRunAnswer(deps, writer, state, given);
  return undefined;
}

async function onSession(
  { store, clock }: Deps,
  writer: StreamWriter,
  { said, by, consumed }: Given,
): Promise<string | undefined> {
  const session = writer.stream;
  const [state, info] = await Promise.all([readSession(store, session), store.info(session)]);
  const { status } = state;
  if (status === 'completed' || status === 'failed' || status === 'cancelled') return status;
  const { review, answer, note, always, key } = said;
  const open = openReviews(state).find((each) => each.review === review);
  if (open === undefined) return undefined;
  // A person's word comes from outside the log: it is a beginning of its own.
  const cause = { stream: session, seq: 0, depth: 0 };
  const head = { seq: state.seq + 1, at: clock.now(), session, turn: state.turn, cause };
  const body = {
    ...({ type: 'review.resolved', review, answer, by } as const),
    ...(note === undefined ? {} : { note }),
    ...(always === true && answer === 'approved' && open.always !== undefined ? { always } : {}),
    ...(key === undefined ? {} : { key }),
    ...(status === 'running' ? ({ away: true } as const) : {}), // its process died
  };
  const append = {
    expectedSeq: state.seq,
    events: [encodeEvent(head, body)],
    // It would go on if somebody worked on it. An answer does not release what is quarantined.
    status: info?.status === QUARANTINED ? QUARANTINED : 'running',
    consumed,
    writes: closeRow(review, session),
  };
  await new Promise<void>((resolve, reject) =>
    writer.append(append, (error) => (error === undefined ? resolve() : reject(error))),
  );
  return undefined;
}
