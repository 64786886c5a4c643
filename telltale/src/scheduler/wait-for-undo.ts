import { forgetFree } from './blocked.ts';
import { above } from './cycles.ts';
import { freeStream } from './gates.ts';
import { type ActionNode, isPending, type Node } from './graph.ts';
import { deadlock } from './propagate.ts';
import { apply } from './record.ts';
import type { Works } from './works.ts';

/**
 * Has the graph know that a rollback, which runs, waits for what undoes something: upwards only, since it is not started
 * again when that has ended. What undoes it must not wait for the rollback, nor for what only the rest of the turn could
 * bring where that waits for the rollback.
 */
export function waitForUndo(works: Works, asker: string | undefined, undo: string): void {
  const { graph } = works;
  const asking = asker === undefined ? undefined : graph.nodes.get(asker);
  const node = graph.nodes.get(undo);
  if (asking === undefined || node === undefined) return;
  if (waitsFor(node, asking)) {
    apply(works, deadlock(graph, node, { kind: 'cycle', path: [undo, asking.id, undo] }, []), undefined);
    return;
  }
  asking.waitsFor.push(node);
  forgetFree(graph);
  apply(works, freeStream(graph), undefined);
}

function waitsFor(from: ActionNode, sought: ActionNode): boolean {
  const seen = new Set<Node>([from]);
  // A Set is walked in the order of insertion, with what is added on the way.
  for (const node of seen) {
    if (node === sought) return true;
    for (const next of above(node)) if (isPending(next)) seen.add(next);
  }
  return false;
}
