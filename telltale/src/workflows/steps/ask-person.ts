import { deepEqual } from '../../conditions/deep-equal.ts';
import type { ReviewAnswer } from '../../events/event.ts';
import type { ApprovalRequest } from '../../events/run-event.ts';
import type { ApprovalState, RunState } from '../../events/run-state.ts';
import { createIdSource } from '../../kernel/ids.ts';
import { toRuntimeError } from '../../kernel/runtime-error.ts';
import type { LeafCall } from '../leaf.ts';
import type { LeafEdges, ReviewEnd } from './leaf-edges.ts';
import { DUE, waitFor } from './wait-for.ts';

/** What became of a question; `due`: nobody answered in time. */
export interface PersonsWord {
  readonly answer: ReviewAnswer | 'due';
  readonly choice: string;
  readonly by: string;
  readonly note?: string;
}

/** Who closes a question that nobody answered in time. */
export const TIMEOUT = 'timeout';

/** The last question of a step, of one kind and about one report where that is said. */
export const lastReview = (
  { reviews }: Pick<RunState, 'reviews'>,
  step: string,
  { kind, nth }: Pick<ApprovalRequest, 'kind' | 'nth'> = {},
): ApprovalState | undefined =>
  reviews.findLast((review) => review.step === step && review.kind === kind && review.nth === nth);

/**
 * Puts a question to people, or finds it on the log where it was put before a restart, and waits for the answer. It is
 * withdrawn when the step is stopped; not where this process only lets go of the run.
 */
export async function askPerson(
  question: Omit<ApprovalRequest, 'review' | 'step'>,
  call: LeafCall,
  edges: LeafEdges,
): Promise<PersonsWord> {
  const { journal, clock, reviews } = edges;
  const { address: step } = call;
  const last = lastReview(journal.state, step, question);
  const word = last === undefined ? undefined : wordOfThisTry(last, question, journal.state);
  if (word !== undefined) return word;
  const open = last?.answer === undefined ? last : undefined;
  const isSame = open !== undefined && deepEqual(open.call?.input, question.call?.input);
  if (open !== undefined && !isSame)
    reviews.close(open.review, withdrawn('It is asked anew, about another call.'));
  const asked: ApprovalRequest = isSame
    ? open
    : { ...question, review: createIdSource({ clock }).next('rev'), step };
  if (!isSame) reviews.open(asked, call.cause);
  const { review, due } = asked;
  const look = () => {
    const found = journal.state.reviews.find((each) => each.review === review);
    return found === undefined ? undefined : wordOf(found);
  };
  try {
    const waited = await waitFor({ waitsFor: `review ${review}`, due, look }, call, edges);
    return waited === DUE ? { answer: 'due', choice: '', by: TIMEOUT } : waited;
  } catch (thrown) {
    if (!edges.isLetGo()) reviews.close(review, withdrawn(toRuntimeError(thrown).message));
    throw thrown;
  }
}

const withdrawn = (note: string): ReviewEnd => ({
  answer: 'withdrawn',
  choice: 'withdrawn',
  by: 'runtime',
  note,
});

/** An answer that came while nobody worked on the run; one to a try before this one has had its effect. */
function wordOfThisTry(
  last: ApprovalState,
  { call }: Pick<ApprovalRequest, 'call'>,
  { steps }: RunState,
): PersonsWord | undefined {
  const began = steps.get(last.step)?.cause.seq ?? 0;
  if (last.seq < began || !deepEqual(last.call?.input, call?.input)) return undefined;
  // The runtime's own withdrawal is no answer: the question is put again.
  return last.answer === 'withdrawn' && last.by !== TIMEOUT ? undefined : wordOf(last);
}

/** Undefined where nobody has answered yet. */
function wordOf({ answer, choice = '', by = '', note }: ApprovalState): PersonsWord | undefined {
  if (answer === undefined) return undefined;
  const isLate = answer === 'withdrawn' && by === TIMEOUT;
  return { answer: isLate ? 'due' : answer, choice, by, ...(note === undefined ? {} : { note }) };
}
