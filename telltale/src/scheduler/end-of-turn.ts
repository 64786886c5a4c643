import { endTurn, type TurnEnding } from './core.ts';
import { closeParallel, seal, unseal } from './gates.ts';
import { isClosed } from './graph.ts';
import { seek } from './named.ts';
import { apply } from './record.ts';
import type { Works } from './works.ts';

/** Nothing more comes in this turn, or, where it was cut short, until the model goes on with it. */
export function endOfTurn(works: Works, how: TurnEnding): void {
  // One that was cut short has not ended well, however what goes on with it does.
  for (const run of works.openLoops ?? [])
    if (run.turn === 'open') run.turn = how;
    else if (run.turn === 'cut' && how !== 'cut') run.turn = 'broken';
  apply(works, endTurn(works.graph, how), undefined);
}

/** The same of one of its `<parallel>`s. `holdsStream`: nothing more is read before all in it has ended. */
export function endOfGroup(works: Works, group: string, holdsStream: boolean): void {
  const { graph } = works;
  const gate = graph.gates?.get(group);
  if (gate?.of !== 'parallel') return;
  if (holdsStream && graph.unnamed !== undefined) seek(works);
  apply(works, holdsStream ? closeParallel(graph, gate) : seal(graph, gate), undefined);
}

/** One that was closed by what does not stand any more: it may get members, and holds nothing up. */
export function openGroupAgain({ graph }: Works, group: string): void {
  const gate = graph.gates?.get(group);
  if (gate === undefined || !gate.sealed || isClosed(gate)) return;
  unseal(graph, gate);
  if (graph.holder === gate) graph.holder = undefined;
}
