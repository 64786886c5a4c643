import { spoil } from './gates.ts';
import { apply } from './record.ts';
import type { Works } from './works.ts';

/** These `<parallel>`s were never said whole: what depends on them is skipped, whatever becomes of their actions. */
export function cutGroups(works: Works, ids: readonly string[]): void {
  const { graph } = works;
  for (const id of ids) {
    const gate = graph.gates?.get(id);
    if (gate?.of === 'parallel') apply(works, spoil(graph, gate, id), undefined);
  }
}
