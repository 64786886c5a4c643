import { mayRunAgain } from './may-run-again.ts';
import type { Run } from './run.ts';
import { giveSlotBack } from './slot.ts';
import type { Works } from './works.ts';

/** Whether a try may begin: one that must not be made twice does not where nobody would see it end. */
export function hasEntered({ deps }: Works, run: Run): boolean {
  const { traits, input = {} } = run;
  if (deps.once === undefined || traits === undefined || mayRunAgain(traits, input)) return true;
  run.leaveOnce = deps.once();
  if (run.leaveOnce !== undefined) return true;
  giveSlotBack(run);
  return false;
}
