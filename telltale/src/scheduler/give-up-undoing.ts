import { rollsBack } from '../events/action.ts';
import { blockerOf } from './blocked.ts';
import { awaitsMore } from './cycles.ts';
import { deadlock } from './propagate.ts';
import { apply } from './record.ts';
import type { Works } from './works.ts';

/**
 * Ends what undoes something and waits for what only the rest of the turn could bring, where the rollback itself holds up
 * the stream: the graph does not know that the one waits for the other.
 */
export function giveUpUndoing(works: Works): void {
  if (!isHeldByRollback(works)) return;
  const { graph } = works;
  for (const { node, undoes } of [...works.runs.values()]) {
    if (undoes === undefined || node.phase !== 'waiting' || !awaitsMore(graph, node)) continue;
    const why = blockerOf(graph, node) ?? { kind: 'unseen', id: node.id };
    apply(works, deadlock(graph, node, why, []), undefined);
  }
}

function isHeldByRollback({ graph: { holder }, runs }: Works): boolean {
  if (holder === undefined) return false;
  const held = holder.kind === 'action' ? [holder] : [...holder.open];
  return held.some(({ id }) => {
    const run = runs.get(id);
    return run !== undefined && rollsBack(run.action);
  });
}
