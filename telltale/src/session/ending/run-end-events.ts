import type { RunEventBody } from '../../events/run-event.ts';
import type { RunState } from '../../events/run-state.ts';

/** The questions of a run that nobody has answered. */
export const openRunReviews = ({ reviews }: RunState): readonly string[] =>
  reviews.flatMap(({ review, choice }) => (choice === undefined ? [review] : []));

/** What closes all that is open in a run, and then the run itself: it is cancelled. */
export const runEndEvents = (state: RunState, reason: string, by: string): readonly RunEventBody[] => [
  ...openRunReviews(state).map(
    (review): RunEventBody => ({
      type: 'review.resolved',
      review,
      answer: 'withdrawn',
      choice: 'withdrawn',
      by,
      note: `The run was cancelled: ${reason}`,
    }),
  ),
  ...openSteps(state).map(
    (step): RunEventBody => ({ type: 'step.cancelled', step, reason: `The run was cancelled: ${reason}` }),
  ),
  { type: 'workflow.cancelled', reason, by },
];

const openSteps = ({ steps }: RunState): readonly string[] =>
  [...steps.values()].flatMap(({ step, status }) =>
    status === 'running' || status === 'retrying' ? [step] : [],
  );
