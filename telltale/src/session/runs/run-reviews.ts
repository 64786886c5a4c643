import type { RunJournal } from '../../engine/run-journal.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { RunReviews } from '../../workflows/steps/leaf-edges.ts';
import { closeRow, rowOfRun } from '../reviews/review-table.ts';
import type { RunAsking } from './run-asking.ts';

/** Questions of a run to people: on its log, and in the table of open ones in the same transaction. */
export const createRunReviews = (
  journal: RunJournal,
  clock: Pick<Clock, 'now'>,
  isLetGo: () => boolean,
  asking?: RunAsking,
): RunReviews => ({
  ...(asking === undefined ? {} : { ask: asking.put }),
  open(request, cause) {
    const writes = [rowOfRun(request, journal.state, clock.now())];
    journal.append({ type: 'review.requested', ...request }, cause, { writes });
  },
  close(review, end) {
    const { id, reviews } = journal.state;
    const open = reviews.find((each) => each.review === review);
    // Where the run only waits, or this process leaves it, the question stays open.
    if (open === undefined || open.choice !== undefined || isLetGo()) return;
    journal.append({ type: 'review.resolved', review, ...end }, undefined, { writes: closeRow(review, id) });
  },
});
