import { deepEqual } from '../../conditions/deep-equal.ts';
import type { ReviewAnswer } from '../../events/review-event.ts';
import type { ApprovalRequest } from '../../events/run-event.ts';
import type { ApprovalState, RunState } from '../../events/run-state.ts';
import { createIdSource } from '../../kernel/ids.ts';
import { toRuntimeError } from '../../kernel/runtime-error.ts';
import { changesOf } from '../../targets/access/bound-call.ts';
import type { LeafCall } from '../leaf.ts';
import type { LeafDeps, ReviewEnd } from './leaf-edges.ts';
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

/** A question as it is put. */
export type Question = Omit<ApprovalRequest, 'review' | 'step'>;

/**
 * Puts a question to people, or finds it on the log where it was put before a restart, and waits for the answer. It is
 * withdrawn when the step is stopped; not where this process only lets go of the run.
 */
export async function askPerson(question: Question, call: LeafCall, deps: LeafDeps): Promise<PersonsWord> {
  const { journal, clock, reviews } = deps;
  const { address: step } = call;
  const own = journal.state.reviews.filter((review) => review.step === step);
  const last = own.findLast((review) => isSame(review, question));
  const word = last === undefined ? undefined : wordOfThisTry(last, journal.state);
  if (word !== undefined) return word;
  // A step puts one question at a time: what is open beside this one is about something that has changed.
  for (const { review, answer } of own)
    if (answer === undefined && review !== last?.review)
      reviews.close(review, withdrawn('It is asked anew, about something else.'));
  const open = last?.answer === undefined ? last : undefined;
  const asked: ApprovalRequest = open ?? { ...question, review: createIdSource({ clock }).next('rev'), step };
  if (open === undefined) reviews.open(asked, call.cause);
  const { review, due } = asked;
  const look = () => {
    const found = journal.state.reviews.find((each) => each.review === review);
    return found === undefined ? undefined : wordOf(found);
  };
  const over = new AbortController();
  reviews.ask?.(asked, over.signal);
  try {
    const waited = await waitFor({ waitsFor: `review ${review}`, due, look }, call, deps);
    return waited === DUE ? { answer: 'due', choice: '', by: TIMEOUT } : waited;
  } catch (thrown) {
    if (!deps.isLetGo()) reviews.close(review, withdrawn(toRuntimeError(thrown).message));
    throw thrown;
  } finally {
    over.abort();
  }
}

const withdrawn = (note: string): ReviewEnd => ({
  answer: 'withdrawn',
  choice: 'withdrawn',
  by: 'runtime',
  note,
});

/** Whether a person who answered the one has answered the other: what they were shown, and what they could say. */
const isSame = (
  asked: Question & Pick<ApprovalState, 'voided'>,
  { kind, nth, prompt, options, call }: Question,
): boolean =>
  asked.voided === undefined &&
  asked.kind === kind &&
  asked.nth === nth &&
  asked.prompt === prompt &&
  deepEqual([...asked.options], [...options]) &&
  (call === undefined || asked.call === undefined
    ? call === asked.call
    : changesOf(asked.call, call).length === 0);

/** An answer that came while nobody worked on the run; one to a try before this one has had its effect. */
function wordOfThisTry(last: ApprovalState, { steps }: RunState): PersonsWord | undefined {
  const began = steps.get(last.step)?.cause.seq ?? 0;
  if (last.seq < began) return undefined;
  // The runtime's own withdrawal is no answer: the question is put again.
  return last.answer === 'withdrawn' && last.by !== TIMEOUT ? undefined : wordOf(last);
}

/** Undefined where nobody has answered yet. */
function wordOf({ answer, choice = '', by = '', note }: ApprovalState): PersonsWord | undefined {
  if (answer === undefined) return undefined;
  const isLate = answer === 'withdrawn' && by === TIMEOUT;
  return { answer: isLate ? 'due' : answer, choice, by, ...(note === undefined ? {} : { note }) };
}
