import type { FreeSlot } from '../../engine/slots.ts';
import { stopWith } from '../../kernel/stop-with.ts';
import type { ReadyLeaf } from '../leaf.ts';
import type { Branch } from './branch.ts';
import { cancelledBecause } from './failures.ts';

/** Waits for the slot that the call of a step needs. Undefined where the branch was stopped first, and none is held. */
export async function enterSlot(
  branch: Branch,
  enter: NonNullable<ReadyLeaf['enter']>,
): Promise<FreeSlot | undefined> {
  const controller = new AbortController();
  const offStop = branch.onStop((reason) => stopWith(controller, cancelledBecause(reason)));
  let free: FreeSlot | undefined;
  try {
    free = await enter(controller.signal);
  } catch (thrown) {
    if (branch.stopped === undefined) throw thrown;
  } finally {
    offStop();
  }
  if (branch.stopped === undefined) return free;
  free?.();
  return undefined;
}
