import type { LeafCall } from '../../workflows/leaf.ts';
import type { ChildSession } from '../children/lineage.ts';
import type { StopReason } from '../stop.ts';

/** Parks a step for as long as the session of its agent only waits for people. The returned function ends that. */
export function parkWithAgent(
  { rest }: Pick<ChildSession, 'rest'>,
  session: string,
  park: LeafCall['park'],
): () => void {
  let goOn: (() => void) | undefined;
  const end = () => {
    goOn?.();
    goOn = undefined;
  };
  const look = () => {
    if (rest.reviews() === undefined) end();
    else goOn ??= park(`agent ${session}`);
  };
  const deaf = rest.onMoved(look);
  look(); // it may be another step of the same agent that comes while it waits
  return () => {
    deaf();
    end();
  };
}

/** How a session is let go of with its run: one that only waits says so on its log, and is found when that is over. */
export const leaving = ({ rest }: Pick<ChildSession, 'rest'>): StopReason => ({
  kind: rest.reviews() === undefined ? 'interrupt' : 'wait',
});
