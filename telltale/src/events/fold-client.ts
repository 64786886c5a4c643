import type { RunEventOf } from './run-event.ts';
import type { ClientTask, RunState } from './run-state.ts';

/** Folds what passes between a run and the client that works on its tasks. The first claim of a question counts. */
export function foldClient(state: RunState, event: RunEventOf<'client.asked' | 'client.claimed'>): void {
  if (event.type === 'client.asked') {
    const { type: _, run: __, cause: ___, ...task } = event;
    state.client ??= [];
    state.client.push(task);
    return;
  }
  const { type: _, run: __, cause: ___, ...claim } = event;
  const asked = questionOf(state, claim);
  if (asked === undefined || asked.claim !== undefined) return;
  asked.claim = claim;
  // It was held for the client, and goes on.
  if (state.status === 'waiting') {
    state.status = 'running';
    delete state.waiting;
  }
}

/** Undefined where it was never put. */
export const questionOf = (
  { client = [] }: Pick<RunState, 'client'>,
  { step, attempt, nth }: Pick<ClientTask, 'step' | 'attempt' | 'nth'>,
): ClientTask | undefined =>
  client.findLast((task) => task.step === step && task.attempt === attempt && task.nth === nth);

/** The questions that a claim is waited for, oldest first. */
export const openQuestions = ({
  client = [],
  steps,
}: Pick<RunState, 'client' | 'steps'>): readonly ClientTask[] =>
  client.filter(({ step, attempt, claim }) => {
    const known = steps.get(step);
    return claim === undefined && known?.status === 'running' && known.attempts === attempt;
  });
