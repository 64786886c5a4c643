import { createSystemClock } from '../../telltale/src/lib/clock.ts';
import { openStore } from '../../telltale/src/store/open-store.ts';
import type { WorkflowContestant } from '../workflows/contestant.ts';
import { loopOn } from '../workflows/store-loop.ts';

/** The bare loop of `workflows` on the store of a fleet. */
export const contestant: WorkflowContestant = {
  open: async ({ steps, folder, postgres = '' }) =>
    loopOn(
      await openStore(postgres, {
        clock: createSystemClock(),
        pid: process.pid,
        durability: 'power',
        cwd: folder,
      }),
      steps,
    ),
};
