import type { DeclaredAction } from '../log/action.ts';
import { isSpoilt } from '../log/fold-turns.ts';
import { openGate, spoil } from './dependency-graph.ts';
import type { Gate } from './graph.ts';
import { isLoop, loopOf } from './loops.ts';
import { nameKey } from './names.ts';
import { apply } from './record.ts';
import type { SchedulerCore } from './run.ts';
import type { Loop } from './scheduler.ts';

/** The collections that an action belongs to; those a `<foreach>` fills. */
export function gatesOf(scheduler: SchedulerCore, action: DeclaredAction): readonly Gate[] {
  const { gates } = scheduler.graph;
  if (isLoop(action)) return loopOf(action).actions.flatMap(({ id }) => gates?.get(id) ?? []);
  const gate = action.base === undefined ? undefined : gates?.get(action.base);
  return gate === undefined ? groupOf(scheduler, action) : [gate];
}

const NO_GATES: readonly Gate[] = [];

/** The `<parallel>`s that it stands in, made where it is the first of them. */
export function groupOf(scheduler: SchedulerCore, { group, within }: DeclaredAction): readonly Gate[] {
  if (group === undefined) return NO_GATES;
  const gateOf = (id: string) => scheduler.graph.gates?.get(id) ?? openGroup(scheduler, id);
  return within === undefined ? [gateOf(group)] : [gateOf(group), ...within.map(gateOf)];
}

function openGroup(scheduler: SchedulerCore, id: string): Gate {
  const gate = openGate(scheduler.graph, id, 'parallel');
  if (isSpoilt(scheduler.state, id)) spoilGroup(scheduler, id);
  return gate;
}

/** The gates and keys of what a `<foreach>` is going to make. */
export function openLoop(scheduler: SchedulerCore, loop: Loop): void {
  for (const action of loop.actions) {
    openGate(scheduler.graph, action.id, 'foreach', groupOf(scheduler, action));
    scheduler.loops ??= new Map();
    scheduler.loops.set(action.id, loop);
    if (action.output_key !== undefined) nameKey(scheduler, action.output_key, action.id);
  }
}

/** It will not succeed, whatever becomes of its actions. One that nothing stands in yet fails when something does. */
export function spoilGroup(scheduler: SchedulerCore, group: string): void {
  const gate = scheduler.graph.gates?.get(group);
  if (gate?.of === 'parallel') apply(scheduler, spoil(scheduler.graph, gate, group), undefined);
}
