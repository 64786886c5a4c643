import type { RunJournal } from '../../engine/run-journal.ts';
import type { RunReviews } from '../../workflows/steps/leaf-edges.ts';
import { rowOf, withoutRow } from '../reviews/review-table.ts';

/** Questions of a run to people: on its log, and in the table of open ones in the same transaction. */
export const createRunReviews = (
  journal: RunJournal,
  workflow: string,
  isLetGo: () => boolean,
): RunReviews => ({
  open(request, cause) {
    const { state } = journal;
    const { review, step, prompt, call, options, assignee } = request;
    const row = rowOf(
      {
        review,
        action: step,
        target: call?.target ?? `workflow "${workflow}"`,
        what: prompt,
        because: call?.because ?? `the step "${step}" asks a person`,
        at: state.at,
      },
      state.id,
      state.manifest.agent,
      { options: [...options], ...(assignee === undefined ? {} : { assignee }) },
    );
    journal.append({ type: 'review.requested', ...request }, cause, { writes: [row] });
  },
  close(review, end) {
    const open = journal.state.reviews.find((each) => each.review === review);
    // Where the run only waits, or this process leaves it, the question stays open.
    if (open === undefined || open.choice !== undefined || isLetGo()) return;
    journal.append({ type: 'review.resolved', review, ...end }, undefined, { writes: [withoutRow(review)] });
  },
});
