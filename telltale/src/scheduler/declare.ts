import { type DeclaredAction, idInTurn, isForEach, newestOf } from '../log/action.ts';
import type { Cause } from '../log/event.ts';
import { firstShared } from '../log/fold-turns.ts';
import { type Binding, withReferences } from './bindings.ts';
import { type Declaration, declare, seal } from './dependency-graph.ts';
import { duplicateId, type FaultBody } from './faults.ts';
import { loopAction, loopOf } from './foreach.ts';
import { type Change, isClosed } from './graph.ts';
import {
  announceNamesOf,
  announceOutsideNames,
  applyChanges,
  bindingOf,
  firstUnresolvedName,
  invalidateParallel,
  joinsOf,
  openForEach,
} from './record.ts';
import { type Run, type SchedulerCore, WAITING } from './scheduler-core.ts';
import type { ForEachLoop, TargetTraits } from './scheduler-deps.ts';

/** Where an action comes from: the turn that asked for it, or the action that it undoes. */
export type ActionOrigin = Pick<Run, 'turn' | 'undoes'>;

/** Adds an action to the log and to the graph, and queues it if it may start. */
export function addAction(
  scheduler: SchedulerCore,
  asked: DeclaredAction,
  cause: Cause | undefined,
  coming: ActionOrigin,
): void {
  const { id, mode, group, base } = asked;
  const blocksStream = mode === 'sync' && base === undefined;
  // A sync action outside a <parallel> means that all of them are closed.
  if (blocksStream && group === undefined)
    for (const join of [...scheduler.graph.unsealed])
      applyChanges(scheduler, seal(scheduler.graph, join), cause);
  if (blocksStream) announceOutsideNames(scheduler);
  const declared = base !== undefined || coming.undoes !== undefined;
  const binding = bindingOf(scheduler, asked, declared);
  const action = isForEach(asked) ? asked : withReferences(scheduler, asked, binding, declared);
  const at = scheduler.deps.append({ type: 'action.declared', action }, cause);
  if (scheduler.status !== 'open' && coming.undoes === undefined) {
    scheduler.deps.append({ type: 'action.cancelled', id, reason: scheduler.closeReason }, at);
    scheduler.notifier.add(id);
    return;
  }
  const { turn, undoes } = coming;
  const { changes } = addToGraph(scheduler, action, {
    turn,
    undoes,
    binding,
    cause: at,
    blocksStream,
    mayBeNamed: turn === 'open',
  });
  applyChanges(scheduler, changes, at);
  announceNamesOf(scheduler, action, at);
}

/** Adds an action to the graph. Nothing is logged. */
export function addToGraph(
  scheduler: SchedulerCore,
  action: DeclaredAction,
  how: ActionOrigin & {
    readonly binding: Binding;
    readonly cause: Cause | undefined;
    readonly blocksStream: boolean;
    /** Whether an unknown name may still be declared: in the same turn, or while that turn is being restored. */
    readonly mayBeNamed: boolean;
  },
): { readonly run: Run; readonly changes: readonly Change[] } {
  const { id, kind, output_key, base } = action;
  const { binding, turn, undoes, cause, blocksStream, mayBeNamed } = how;
  const loop = isForEach(action);
  const traits = loop ? undefined : scheduler.deps.traits(action);
  const { node, changes } = declare(scheduler.graph, {
    id,
    needs: binding,
    // A sync action must not wait for a name: the stream would wait with it, and could not declare the name.
    unnamed:
      mayBeNamed && (loop || !blocksStream) ? firstUnresolvedName(scheduler, action, binding) : undefined,
    joins: joinsOf(scheduler, action),
    held: undoes === undefined ? turnEndWait(traits, turn) : 'no',
    blocksStream,
    makesMembers: loop,
  });
  const run: Run = {
    action,
    node,
    binding,
    traits,
    undoes,
    // An internal action such as `rollback` would wait for actions that wait for its capacity.
    usesCapacity: !loop && kind !== 'internal',
    turn,
    cause,
    stage: WAITING,
    input: undefined,
    approved: false,
    beforeHookDone: false,
    attempts: 0,
    failures: 0,
    startedAt: 0,
  };
  scheduler.runs.set(id, run);
  if (loop) {
    scheduler.openLoops.add(run);
  }
  if (output_key !== undefined && base === undefined) scheduler.keys.set(output_key, id);
  return { run, changes };
}

function turnEndWait(traits: TargetTraits | undefined, turn: Run['turn']): Declaration['held'] {
  if (turn === 'well' || traits?.start !== 'on_turn_end') return 'no';
  return turn === 'open' ? 'until_turn_end' : 'turn_failed';
}

export const isIdTaken = ({ state, graph }: SchedulerCore, id: string): boolean =>
  state.actions.has(id) || graph.joins?.has(id) === true;

function freshLoopId(scheduler: SchedulerCore): string {
  for (;;) {
    const id = `foreach_${++scheduler.loopsMade}`;
    if (!isIdTaken(scheduler, id)) return id;
  }
}

const DECLARED = { turn: 'open', undoes: undefined } as const;

/**
 * The id on the log for an id that the model wrote: the same id for the first action that has it. The model may use an id
 * again once its holder has ended, unless the holder belongs to this turn or to one that this turn may repeat. `by` names
 * what asks for the id.
 */
export function claimId(scheduler: SchedulerCore, id: string, by: string): string | FaultBody {
  const { state, graph, runs } = scheduler;
  const holder = newestOf(state, id);
  if (!isIdTaken(scheduler, holder)) return id;
  const join = graph.joins.get(holder);
  const turn = declaringTurn(scheduler, holder);
  const isOpen = runs.has(holder) || (join !== undefined && !isClosed(join));
  return isOpen || turn >= firstShared(state)
    ? duplicateId(id, by, state.actions.get(holder), turn)
    : idInTurn(id, state.turn);
}

/** The turn that declared an action, a `<parallel>`, or the `<foreach>` that creates the action. */
function declaringTurn({ state }: SchedulerCore, id: string): number {
  const known = state.actions.get(id);
  if (known !== undefined) return known.turn;
  const isOf = ({ base, group, within }: DeclaredAction) =>
    base === id || group === id || within?.includes(id) === true;
  for (const { action, turn } of state.actions.values()) {
    if (isOf(action)) return turn;
    if (isForEach(action) && loopOf(action).actions.some((made) => made.id === id || isOf(made))) return turn;
  }
  return state.turn;
}

/** Declares an action of the model, and returns its id on the log. Undefined if the id is taken. */
export function declareAction(
  scheduler: SchedulerCore,
  asked: DeclaredAction,
  cause: Cause,
): string | undefined {
  const id = claimId(scheduler, asked.id, describeAction(asked));
  if (typeof id !== 'string') {
    rejectDuplicate(scheduler, asked, id, cause);
    return undefined;
  }
  addAction(scheduler, withLogIds(scheduler, asked, new Map([[asked.id, id]])), cause, DECLARED);
  return id;
}

/** Declares the actions of a `<foreach>`. Its list may not be there yet. */
export function declareForEach(scheduler: SchedulerCore, asked: ForEachLoop, cause: Cause): void {
  const ids = new Map<string, string>();
  const free = asked.actions.filter((action) => {
    const id = claimId(scheduler, action.id, describeAction(action));
    if (typeof id === 'string') ids.set(action.id, id);
    else rejectDuplicate(scheduler, action, id, cause);
    return typeof id === 'string';
  });
  const taken = { ...asked, actions: free.map((action) => withLogIds(scheduler, action, ids)) };
  const made = loopAction(freshLoopId(scheduler), taken);
  // Must come before `openForEach`, after which the names of its actions stand for the `<foreach>` itself.
  const action = withReferences(scheduler, made, bindingOf(scheduler, made, false), false);
  if (scheduler.status === 'open') openForEach(scheduler, taken);
  addAction(scheduler, action, cause, DECLARED);
}

const describeAction = ({ name }: DeclaredAction): string => `the action of "${name}"`;

/**
 * The action with ids as they are on the log: its own and those it depends on. `ids` are those of the actions next to it
 * in a `<foreach>`, and its own.
 */
function withLogIds(
  scheduler: SchedulerCore,
  action: DeclaredAction,
  ids: ReadonlyMap<string, string>,
): DeclaredAction {
  const { depends_on: needs } = action;
  const bound = (needed: string): string =>
    (needed === action.id ? undefined : ids.get(needed)) ?? newestOf(scheduler.state, needed);
  const id = ids.get(action.id) ?? action.id;
  const isSame = id === action.id && (needs === undefined || needs.every((each) => bound(each) === each));
  if (isSame) return action;
  return { ...action, id, ...(needs === undefined ? {} : { depends_on: needs.map(bound) }) };
}

/** Records that the action's id is taken. The `<parallel>`s that contain the action fail. */
function rejectDuplicate(
  scheduler: SchedulerCore,
  { group, within = [] }: DeclaredAction,
  why: FaultBody,
  cause: Cause,
): void {
  const groups = group === undefined ? [] : [...within, group];
  scheduler.deps.append({ ...why, ...(groups.length === 0 ? {} : { groups }) }, cause);
  for (const each of groups) invalidateParallel(scheduler, each);
}
