import type { WorkflowContestant } from '../workflows/contestant.ts';
import { openContest } from '../workflows/telltale.ts';

/** Like `telltale-worker`, with steps of 20 ms: the limit is how many steps a worker holds at once. */
export const contestant: WorkflowContestant = {
  open: (options) =>
    openContest(options, { store: options.postgres ?? '', capacity: options.atOnce, stepMs: 20 }),
};
