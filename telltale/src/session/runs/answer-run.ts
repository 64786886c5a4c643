import { readRun } from '../../engine/read-run.ts';
import type { RunJournal } from '../../engine/run-journal.ts';
import { createRunLog } from '../../engine/run-log.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Json } from '../../kernel/json.ts';
import type { Store, StreamWriter } from '../../store/store.ts';
import { reviewAnswered } from '../reviews/review-errors.ts';
import { withoutRow } from '../reviews/review-table.ts';
import type { AnswerMessage } from '../reviews/take-answer.ts';

/** Puts an answer on the log of a run that nobody works on: it goes on with it when it is taken up. */
export async function writeRunAnswer(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  writer: StreamWriter,
  said: AnswerMessage,
  by: string,
): Promise<void> {
  const state = await readRun(store, writer.stream);
  const journal = createRunLog({ writer, state, clock, onLost: () => undefined }); // flushed() says so
  if (!takeRunAnswer(journal, by, { ...said }, [])) throw reviewAnswered(said.review, 'by another');
  await journal.flushed();
}

/** False where it is no answer, or one to a question that is not open. */
export function takeRunAnswer(
  journal: RunJournal,
  by: string,
  body: Json,
  consumed: readonly number[],
): boolean {
  const { review, answer: said, choice, note } = (body ?? {}) as Record<string, Json>;
  const open = journal.state.reviews.find((each) => each.review === review && each.choice === undefined);
  if (open === undefined || (said !== 'approved' && said !== 'rejected')) return false;
  const chosen =
    typeof choice === 'string' && open.options.includes(choice) ? choice : choiceFor(said, open.options);
  journal.append(
    {
      type: 'review.resolved',
      review: open.review,
      answer: said,
      choice: chosen,
      by,
      ...(typeof note === 'string' ? { note } : {}),
    },
    { stream: journal.state.id, seq: 0, depth: 0 },
    { consumed, writes: [withoutRow(open.review)] },
  );
  return true;
}

/** Approval is the first of the options, refusal the last, where none of them is called so. */
const choiceFor = (said: 'approved' | 'rejected', options: readonly string[]): string => {
  const named = options.find((option) => option === (said === 'approved' ? 'approve' : 'reject'));
  return named ?? (said === 'approved' ? options[0] : options.at(-1)) ?? said;
};
