import { waitForEnds } from './bell.ts';
import { closeParallel } from './gates.ts';
import { isClosed } from './graph.ts';
import { apply } from './record.ts';
import type { Works } from './works.ts';

/** Calls back once all of these have ended; at once if they have. Who asks for a `<parallel>` says that it has closed. */
export function whenEnded(works: Works, ids: readonly string[], then: () => void): void {
  const { graph } = works;
  for (const id of ids) {
    const gate = graph.gates?.get(id);
    if (gate?.of === 'parallel' && !gate.sealed) apply(works, closeParallel(graph, gate), undefined);
  }
  const { runs } = works;
  const isOpen = (id: string) => {
    const gate = graph.gates?.get(id);
    return runs.has(id) || (gate !== undefined && !isClosed(gate));
  };
  const open = ids.every(isOpen) ? ids : ids.filter(isOpen);
  if (open.length === 0) then();
  else waitForEnds(works, open, then);
  works.goOn();
}
