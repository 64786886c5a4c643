import type { RunJournal } from '../../src/engine/run-log.ts';
import type { StepDeps } from '../../src/workflows/steps/step-deps.ts';

/** Reviews that stand on the run's log and nowhere else. */
export const reviewsOn = (journal: RunJournal): StepDeps['reviews'] => ({
  open: (request, cause) => void journal.append({ type: 'review.requested', ...request }, cause),
  close(review, end) {
    if (journal.state.reviews.some((each) => each.review === review && each.answer === undefined))
      journal.append({ type: 'review.resolved', review, ...end });
  },
});

/** Nobody works on tasks, and nobody lends an agent. */
export const NOBODY_WORKS: Pick<StepDeps, 'workers' | 'targetsOf'> = {
  workers: {
    give: () => Promise.reject(new Error('nobody works here')),
    answer: () => Promise.reject(new Error('nobody works here')),
  },
  targetsOf: () => Promise.reject(new Error('nobody is lent here')),
};
