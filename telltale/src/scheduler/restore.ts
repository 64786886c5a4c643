import { type ActionState, hasEnded, isForEach, rollsBack } from '../log/action.ts';
import { hookedInput } from '../log/hook-marks.ts';
import { reviewOf } from '../log/reviews.ts';
import type { SessionState } from '../log/state.ts';
import { isIdempotent, retriesOf } from './attempt.ts';
import { NO_NEEDS } from './bindings.ts';
import { addToGraph } from './declare.ts';
import { endTurn, invalidate, restoreMember, seal } from './dependency-graph.ts';
import { loopOf } from './foreach.ts';
import type { JoinNode } from './graph.ts';
import { referentOf } from './names.ts';
import { announceNamesOf, applyChanges, bindingOf, finish, joinsOf, openForEach } from './record.ts';
import { undoneActionOf } from './rollback.ts';
import { QUEUED, type Run, type SchedulerCore } from './scheduler-core.ts';
import { expand } from './start.ts';

/**
 * Restores the actions of an earlier process, in the order in which they were declared. No target is called here. Returns
 * the failed action that was about to end the session, if there is one.
 */
export function restore(scheduler: SchedulerCore, from: SessionState): ActionState | undefined {
  const { graph } = scheduler;
  const made: JoinNode[] = [];
  for (const known of from.actions.values()) {
    if (isForEach(known.action)) openForEach(scheduler, loopOf(known.action));
    if (hasEnded(known.status)) restoreEnded(scheduler, known, made);
    else restoreOpen(scheduler, from, known);
    announceNamesOf(scheduler, known.action, undefined);
  }
  scheduler.completed.push(...completionOrder(from));
  if (from.failing === undefined) expandInterrupted(scheduler);
  for (const join of made) applyChanges(scheduler, seal(graph, join), undefined);
  if (!from.turnOpen) applyChanges(scheduler, endTurn(graph, 'well'), undefined);
  return from.failing === undefined ? undefined : from.actions.get(from.failing);
}

/** Creates the missing actions of each `<foreach>` that the process died in. Other actions may wait for one of them. */
function expandInterrupted(scheduler: SchedulerCore): void {
  for (const run of [...scheduler.openLoops])
    if (run.attempts > 0 && run.stage === QUEUED) expand(scheduler, run);
}

/** Restores an unfinished action: it waits on, runs again, or ends as interrupted. */
function restoreOpen(scheduler: SchedulerCore, from: SessionState, known: ActionState): void {
  const { action, status, attempts } = known;
  const loop = isForEach(action);
  const begun = attempts > 0;
  const input = known.input ?? reviewOf(from, action.id)?.input ?? hookedInput(from.hooks, action.id);
  const { run, changes } = addToGraph(scheduler, action, {
    // Once its input was resolved, all of its dependencies were there.
    binding: begun || input !== undefined ? NO_NEEDS : bindingOf(scheduler, action, true),
    undoes: undoneActionOf(scheduler.state, action),
    turn: begun && !loop ? 'well' : turnEndingOf(from, known),
    cause: undefined,
    blocksStream: false,
    mayBeNamed: true, // `endTurn` gives up on unknown names, below or once the open turn ends
  });
  run.attempts = attempts;
  run.failures = failuresOf(from, known);
  run.input = input;
  run.startedAt = scheduler.deps.clock.monotonic();
  const again =
    loop || (run.traits !== undefined && isIdempotent(run.traits, known.input ?? {}) && mayRestart(known));
  if (status === 'running' && !again)
    finish(scheduler, run, { type: 'action.interrupted', id: action.id, attempt: attempts }, action.id);
  else applyChanges(scheduler, changes, undefined);
}

/** An interrupted call of a sub-agent is resumed, so it does not count as a failure. */
function failuresOf(from: SessionState, { action, status, attempts }: ActionState): number {
  if (action.kind === 'agent') return from.children.find((each) => each.action === action.id)?.tries ?? 0;
  return status === 'running' ? attempts - 1 : attempts;
}

/** Restores the effect of an ended action on its join nodes, its output key and its rollback. */
function restoreEnded(scheduler: SchedulerCore, { action, status }: ActionState, made: JoinNode[]): void {
  const { graph, state } = scheduler;
  const referent = referentOf(scheduler, action.id);
  const because = referent?.state === 'failed' ? referent.because : undefined;
  if (action.output_key !== undefined && action.base === undefined)
    scheduler.keys.set(action.output_key, action.id);
  for (const join of joinsOf(scheduler, action)) {
    if (!isForEach(action))
      applyChanges(scheduler, restoreMember(graph, join, action.id, because), undefined);
    else {
      made.push(join);
      if (because !== undefined) applyChanges(scheduler, invalidate(graph, join, because), undefined);
    }
  }
  const undoes = status === 'completed' ? undoneActionOf(state, action) : undefined;
  if (undoes !== undefined && state.actions.get(undoes)?.status === 'completed')
    scheduler.deps.append({ type: 'action.compensated', id: undoes, by: action.id });
}

/** How often an action is started again after crashes. The action may be what crashes the process. */
const MAX_RESTARTS = 10;

/** Sub-agents and rollbacks are resumed without limit: their own actions are counted one by one. */
const mayRestart = ({ action, attempts }: ActionState): boolean =>
  action.kind === 'agent' || rollsBack(action) || attempts <= retriesOf(action) + MAX_RESTARTS;

/** Ids of completed actions, in the order of their completion. Those whose order is not known come first. */
function completionOrder(state: SessionState): string[] {
  const ordered = [...state.turns.flatMap(({ news }) => news.results), ...state.news.results];
  const known = new Set(ordered);
  const others = [...state.actions.keys()].filter((id) => !known.has(id));
  return [...others, ...ordered].filter((id) => {
    const status = state.actions.get(id)?.status;
    return status === 'completed' || status === 'compensated';
  });
}

/** How the turn that declared an action has ended, if it has. */
export function turnEndingOf(state: SessionState, { turn }: ActionState): Run['turn'] {
  if (turn === state.turn && state.turnOpen) return 'open';
  const after =
    turn === state.turn ? state.news : state.turns.find((record) => record.turn === turn + 1)?.news;
  return after?.broken === undefined && after?.short === undefined ? 'well' : 'broken';
}
