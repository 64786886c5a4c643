import type { DeclaredAction } from '../log/action.ts';
import type { Cause } from '../log/event.ts';
import { type Binding, withReferences } from './bind.ts';
import { type Declaration, declare, seal } from './dependency-graph.ts';
import type { TargetTraits } from './edges.ts';
import { gatesOf } from './gates-of.ts';
import type { Change } from './graph.ts';
import { isLoop } from './loops.ts';
import { bindingOf, namedBy, seek, unnamedOf } from './named.ts';
import { nameKey } from './names.ts';
import { apply } from './record.ts';
import { noteEnd, type Run, type SchedulerCore, WAITING } from './run.ts';

/** How an action comes in. `turn`: how the turn that asked for it has ended, if it has. */
export type Coming = Pick<Run, 'turn' | 'undoes'>;

/** Takes an action in: on the log, into the graph, into the queue if it may start. */
export function take(
  scheduler: SchedulerCore,
  asked: DeclaredAction,
  cause: Cause | undefined,
  coming: Coming,
): void {
  const { id, mode, group, base } = asked;
  const holdsStream = mode === 'sync' && base === undefined;
  // A sync action stands in no <parallel>: those that have not been sealed are closed.
  const { unsealed } = scheduler.graph;
  if (holdsStream && group === undefined && unsealed !== undefined)
    for (const gate of [...unsealed]) apply(scheduler, seal(scheduler.graph, gate), cause);
  if (holdsStream && scheduler.graph.unnamed !== undefined) seek(scheduler);
  const declared = base !== undefined || coming.undoes !== undefined;
  const binding = bindingOf(scheduler, asked, declared);
  const action = isLoop(asked) ? asked : withReferences(scheduler, asked, binding, declared);
  const at = scheduler.deps.append({ type: 'action.declared', action }, cause);
  if (scheduler.life !== 'open' && coming.undoes === undefined) {
    scheduler.deps.append({ type: 'action.cancelled', id, reason: scheduler.shutReason }, at);
    noteEnd(scheduler, id);
    return;
  }
  const { turn, undoes } = coming;
  const { changes } = place(scheduler, action, {
    turn,
    undoes,
    binding,
    cause: at,
    holdsStream,
    mayBeNamed: turn === 'open',
  });
  apply(scheduler, changes, at);
  if (scheduler.graph.unnamed !== undefined) namedBy(scheduler, action, at);
}

/** Puts an action into the graph, without a word to anybody. */
export function place(
  scheduler: SchedulerCore,
  action: DeclaredAction,
  how: Coming & {
    readonly binding: Binding;
    readonly cause: Cause | undefined;
    readonly holdsStream: boolean;
    /** Whether what has a name in it may still come: in its turn, or while what came there is taken over. */
    readonly mayBeNamed: boolean;
  },
): { readonly run: Run; readonly changes: readonly Change[] } {
  const { id, kind, output_key, base } = action;
  const { binding, turn, undoes, cause, holdsStream, mayBeNamed } = how;
  const loop = isLoop(action);
  const traits = loop ? undefined : scheduler.deps.traits(action);
  const { node, changes } = declare(scheduler.graph, {
    id,
    needs: binding,
    // The stream would wait with it, and bring nothing.
    unnamed: mayBeNamed && (loop || !holdsStream) ? unnamedOf(scheduler, action, binding) : undefined,
    gates: gatesOf(scheduler, action),
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
  scheduler.runs.set(id, run);
  if (loop) {
    scheduler.openLoops ??= new Set();
    scheduler.openLoops.add(run);
  }
  if (output_key !== undefined && base === undefined) nameKey(scheduler, output_key, id);
  return { run, changes };
}

function heldBy(traits: TargetTraits | undefined, turn: Run['turn']): Declaration['held'] {
  if (turn === 'well' || traits?.start !== 'on_turn_end') return 'no';
  return turn === 'open' ? 'until_turn_end' : 'turn_failed';
}

export const isTaken = ({ state, graph }: SchedulerCore, id: string): boolean =>
  state.actions.has(id) || graph.gates?.has(id) === true;

export function freshLoopId(scheduler: SchedulerCore): string {
  for (;;) {
    const id = `foreach_${++scheduler.loopsMade}`;
    if (!isTaken(scheduler, id)) return id;
  }
}
