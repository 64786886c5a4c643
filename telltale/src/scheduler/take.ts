import type { DeclaredAction } from '../events/action.ts';
import type { Cause } from '../events/event.ts';
import { put } from '../kernel/grow.ts';
import { noteEnd } from './bell.ts';
import { type Binding, bind } from './bind.ts';
import { type Declaration, declare } from './core.ts';
import type { TargetTraits } from './edges.ts';
import { openGate, seal } from './gates.ts';
import type { Change, Gate } from './graph.ts';
import { isLoop, loopOf } from './loops.ts';
import { nameKey } from './names.ts';
import { apply } from './record.ts';
import { type Run, WAITING } from './run.ts';
import type { Loop } from './scheduler.ts';
import type { Works } from './works.ts';

/** How an action comes in. `turn`: how the turn that asked for it has ended, if it has. */
export type Coming = Pick<Run, 'turn' | 'undoes'>;

/** Takes an action in: on the log, into the graph, into the queue if it may start. */
export function take(works: Works, action: DeclaredAction, cause: Cause | undefined, coming: Coming): void {
  const { id, mode, group, base } = action;
  const holdsStream = mode === 'sync' && group === undefined && base === undefined;
  // A sync action stands in no parallel, so none is open.
  const { unsealed } = works.graph;
  if (holdsStream && unsealed !== undefined)
    for (const gate of [...unsealed]) apply(works, seal(works.graph, gate), cause);
  const binding = bindingOf(works, action);
  const at = works.edges.append({ type: 'action.declared', action }, cause);
  if (works.life !== 'open' && coming.undoes === undefined) {
    works.edges.append({ type: 'action.cancelled', id, reason: works.shutReason }, at);
    noteEnd(works, id);
    return;
  }
  const { turn, undoes } = coming;
  const { changes } = place(works, action, { turn, undoes, binding, cause: at, holdsStream });
  apply(works, changes, at);
}

/** What it waits for. */
export function bindingOf(works: Works, action: DeclaredAction): Binding {
  groupOf(works, action); // it may name the group it is the first of
  return bind(works, action, isLoop(action) ? (action.parameters.in ?? null) : action.parameters);
}

/** Puts an action into the graph, without a word to anybody. */
export function place(
  works: Works,
  action: DeclaredAction,
  how: Coming & {
    readonly binding: Binding;
    readonly cause: Cause | undefined;
    readonly holdsStream: boolean;
  },
): { readonly run: Run; readonly changes: readonly Change[] } {
  const { id, kind, output_key, base } = action;
  const { binding, turn, undoes, cause, holdsStream } = how;
  const loop = isLoop(action);
  const traits = loop ? undefined : works.edges.traits(action);
  const { node, changes } = declare(works.graph, {
    id,
    needs: binding,
    gates: gatesOf(works, action),
    held: undoes === undefined ? heldBy(traits, turn) : 'no',
    holdsStream,
    makesMembers: loop,
  });
  const run: Run = {
    action,
    node,
    binding,
    traits,
    undoes,
    // One that rolls back, or cancels, would wait for what waits for its place, or does not give it up.
    counted: !loop && kind !== 'internal',
    turn,
    cause,
    stage: WAITING,
    input: undefined,
    cleared: false,
    looked: false,
    attempts: 0,
    failures: 0,
    since: 0,
  };
  works.runs = put(works.runs, id, run);
  if (loop) {
    works.openLoops ??= new Set();
    works.openLoops.add(run);
  }
  if (output_key !== undefined && base === undefined) nameKey(works, output_key, id);
  return { run, changes };
}

function heldBy(traits: TargetTraits | undefined, turn: Run['turn']): Declaration['held'] {
  if (turn === 'well' || traits?.start !== 'on_turn_end') return 'no';
  return turn === 'broken' ? 'turn_failed' : 'until_turn_end';
}

/** The collections that an action belongs to; those a `<foreach>` fills. */
export function gatesOf(works: Works, action: DeclaredAction): readonly Gate[] {
  const { gates } = works.graph;
  if (isLoop(action)) return loopOf(action).actions.flatMap(({ id }) => gates?.get(id) ?? []);
  const gate = action.base === undefined ? undefined : gates?.get(action.base);
  return gate === undefined ? groupOf(works, action) : [gate];
}

const NO_GATES: readonly Gate[] = [];

function groupOf({ graph }: Works, { group, within }: DeclaredAction): readonly Gate[] {
  if (group === undefined) return NO_GATES;
  const gateOf = (id: string) => graph.gates?.get(id) ?? openGate(graph, id, 'parallel');
  return within === undefined ? [gateOf(group)] : [gateOf(group), ...within.map(gateOf)];
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

export const isTaken = ({ state, graph }: Works, id: string): boolean =>
  state.actions.has(id) || graph.gates?.has(id) === true;

export function freshLoopId(works: Works): string {
  for (;;) {
    const id = `foreach_${++works.loopsMade}`;
    if (!isTaken(works, id)) return id;
  }
}
