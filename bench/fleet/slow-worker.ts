import type { WorkflowContestant } from '../workflows/contestant.ts';
import { openContest } from '../workflows/telltale.ts';

/** As `telltale-worker`, with steps that take 20 ms each: as many as a worker holds at once are its limit. */
export const contestant: WorkflowContestant = {
  open: (options) =>
    openContest(options, { store: options.postgres ?? '', capacity: options.atOnce, stepMs: 20 }),
};
