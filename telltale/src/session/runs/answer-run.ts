import type { RunJournal } from '../../engine/run-journal.ts';
import { createRunLog } from '../../engine/run-log.ts';
import type { RunState } from '../../events/run-state.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Json } from '../../kernel/json.ts';
import { QUARANTINED } from '../../store/quarantine.ts';
import type { Store, StreamWriter } from '../../store/store.ts';
import { choiceFor } from '../reviews/choice-for.ts';
import { closeRow } from '../reviews/review-table.ts';
import { type AnswerMessage, readAnswerMessage } from '../reviews/take-answer.ts';

/** Puts an answer on the log of a run that nobody works on: it goes on with it when it is taken up. */
export async function writeRunAnswer(
  { store, clock }: { readonly store: Pick<Store, 'info'>; readonly clock: Clock },
  writer: StreamWriter,
  state: RunState,
  given: { readonly said: AnswerMessage; readonly by: string; readonly consumed: readonly number[] },
): Promise<void> {
  const journal = createRunLog({ ...(await logOfNobody(store, writer)), state, clock, onLost }); // flushed() says so
  takeRunAnswer(journal, given.by, { ...given.said }, given.consumed);
  await journal.flushed();
}

const onLost = (): void => undefined;

/** How the log of a run is written that nobody works on. What is written releases no run that is quarantined. */
export async function logOfNobody(store: Pick<Store, 'info'>, writer: StreamWriter) {
  const info = await store.info(writer.stream);
  return {
    writer,
    forOthers: true,
    ...(info?.status === QUARANTINED ? { keepsStatus: QUARANTINED } : {}),
  } as const;
}

/** False where it is no answer, or one to a question that is not open, or the run is being cancelled. */
export function takeRunAnswer(
  journal: RunJournal,
  by: string,
  body: Json,
  consumed: readonly number[],
): boolean {
  const said = readAnswerMessage(body);
  const { id, reviews, cancelling } = journal.state;
  const open = reviews.find((each) => each.review === said?.review && each.choice === undefined);
  if (said === undefined || open === undefined || cancelling !== undefined) return false;
  const { answer, choice, note, key } = said;
  const isOption = choice !== undefined && open.options.includes(choice);
  journal.append(
    {
      type: 'review.resolved',
      review: open.review,
      answer,
      by,
      choice: isOption ? choice : choiceFor(answer, open.options),
      ...(note === undefined ? {} : { note }),
      ...(key === undefined ? {} : { key }),
    },
    { stream: id, seq: 0, depth: 0 },
    { consumed, writes: closeRow(open.review, id) },
  );
  return true;
}
