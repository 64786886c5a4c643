import type { WorkflowContestant } from '../workflows/contestant.ts';
import { openContest } from '../workflows/telltale.ts';

/** A worker of a fleet: the same workflows, on the shared store. */
export const contestant: WorkflowContestant = {
  open: (options) => openContest(options, { store: options.postgres ?? '', capacity: 2 * options.atOnce }),
};
