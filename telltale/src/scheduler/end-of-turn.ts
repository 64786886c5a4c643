import { endTurn, type TurnEnding } from './core.ts';
import { seal } from './gates.ts';
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

/** The same of one of its `<parallel>`s. */
export function endOfGroup(works: Works, group: string): void {
  const gate = works.graph.gates?.get(group);
  if (gate !== undefined) apply(works, seal(works.graph, gate), undefined);
}
