import type { Branch } from './branch.ts';
import { MAX_PAUSE_MS } from './limits.ts';
import type { Walk } from './walk.ts';

/** The pause after this many failures: it doubles each time, and is shortened by up to a half so that tries spread. */
export function pauseAfter(failures: number, firstMs: number, random: number): number {
  const longest = Math.max(firstMs, MAX_PAUSE_MS);
  const whole = Math.min(longest, firstMs * 2 ** (failures - 1));
  return Math.round(whole * (1 - random / 2));
}

/** Resolves at `due`, or once the branch is stopped. The run may be let go of meanwhile. */
export function pauseUntil(
  { clock, occupancy }: Walk,
  branch: Branch,
  due: number,
  address: string,
): Promise<void> {
  const left = due - clock.now();
  if (left <= 0 || branch.stopped !== undefined) return Promise.resolve();
  return new Promise((resolve) => {
    const first = branch.deadline === undefined ? due : Math.min(due, branch.deadline);
    const unpark = occupancy.park({ for: `retry of ${address}`, due: first });
    const go = () => {
      disarm();
      offStop();
      unpark();
      resolve();
    };
    const disarm = clock.after(left, go);
    const offStop = branch.onStop(go);
  });
}
