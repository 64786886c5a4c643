import type { DeclaredAction } from '../log/action.ts';
import { isSpoilt } from '../log/fold-turns.ts';
import { openGate, spoil } from './dependency-graph.ts';
import type { Gate } from './graph.ts';
import { isLoop, loopOf } from './loops.ts';
import { nameKey } from './names.ts';
import { apply } from './record.ts';
import type { Works } from './run.ts';
import type { Loop } from './scheduler.ts';

/** The collections that an action belongs to; those a `<foreach>` fills. */
export function gatesOf(works: Works, action: DeclaredAction): readonly Gate[] {
  const { gates } = works.graph;
  if (isLoop(action)) return loopOf(action).actions.flatMap(({ id }) => gates?.get(id) ?? []);
  const gate = action.base === undefined ? undefined : gates?.get(action.base);
  return gate === undefined ? groupOf(works, action) : [gate];
}

const NO_GATES: readonly Gate[] = [];

/** The `<parallel>`s that it stands in, made where it is the first of them. */
export function groupOf(works: Works, { group, within }: DeclaredAction): readonly Gate[] {
  if (group === undefined) return NO_GATES;
  const gateOf = (id: string) => works.graph.gates?.get(id) ?? openGroup(works, id);
  return within === undefined ? [gateOf(group)] : [gateOf(group), ...within.map(gateOf)];
}

function openGroup(works: Works, id: string): Gate {
  const gate = openGate(works.graph, id, 'parallel');
  if (isSpoilt(works.state, id)) spoilGroup(works, id);
  return gate;
}

/** The gates and keys of what a `<foreach>` is going to make. */
export function openLoop(works: Works, loop: Loop): void {
  for (const action of loop.actions) {
    openGate(works.graph, action.id, 'foreach', groupOf(works, action));
    works.loops ??= new Map();
    works.loops.set(action.id, loop);
    if (action.output_key !== undefined) nameKey(works, action.output_key, action.id);
  }
}

/** It will not succeed, whatever becomes of its actions. One that nothing stands in yet fails when something does. */
export function spoilGroup(works: Works, group: string): void {
  const gate = works.graph.gates?.get(group);
  if (gate?.of === 'parallel') apply(works, spoil(works.graph, gate, group), undefined);
}
