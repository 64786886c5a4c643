import { endTurn, type TurnEnding } from './core.ts';
import { closeParallel } from './gates.ts';
import { seek } from './named.ts';
import { apply } from './record.ts';
import type { Works } from './works.ts';

/** Nothing more comes in this turn. */
export function endOfTurn(works: Works, how: TurnEnding): void {
  for (const run of works.openLoops ?? []) if (run.turn === 'open') run.turn = how;
  apply(works, endTurn(works.graph, how), undefined);
}

/** One of its `<parallel>`s has closed: nothing more is read before all in it has ended. */
export function endOfGroup(works: Works, group: string): void {
  const { graph } = works;
  const gate = graph.gates?.get(group);
  if (gate?.of !== 'parallel') return;
  if (graph.unnamed !== undefined) seek(works);
  apply(works, closeParallel(graph, gate), undefined);
}
