import type { JsonObject } from '../lib/json.ts';
import { type ActionState, hasEnded, rollsBack } from '../log/action.ts';
import { hookedInput } from '../log/hook-marks.ts';
import { reviewOf } from '../log/reviews.ts';
import type { SessionState } from '../log/state.ts';
import { retriesOf } from './attempt.ts';
import { NO_NEEDS } from './bind.ts';
import { endTurn, recall, seal, spoil } from './dependency-graph.ts';
import type { TargetTraits } from './edges.ts';
import { expand } from './expand.ts';
import { gatesOf, openLoop } from './gates-of.ts';
import type { Gate } from './graph.ts';
import { isLoop, loopOf } from './loops.ts';
import { bindingOf, namedBy } from './named.ts';
import { nameKey, standingOf } from './names.ts';
import { apply, finish } from './record.ts';
import { undone } from './rollback.ts';
import { QUEUED, type Run, type SchedulerCore } from './run.ts';
import { place } from './take.ts';

/**
 * Takes over what an earlier process left, in the order in which it was declared. No target is called here. Returns the
 * failure that was about to end the session, if there is one.
 */
export function restore(scheduler: SchedulerCore, from: SessionState): ActionState | undefined {
  const { graph } = scheduler;
  const made: Gate[] = [];
  for (const known of from.actions.values()) {
    if (isLoop(known.action)) openLoop(scheduler, loopOf(known.action));
    if (hasEnded(known.status)) recallEnded(scheduler, known, made);
    else adopt(scheduler, from, known);
    if (graph.unnamed !== undefined) namedBy(scheduler, known.action, undefined);
  }
  for (const id of completionOrder(from)) scheduler.completed.push(id);
  if (from.failing === undefined) makeMissing(scheduler);
  for (const gate of made) apply(scheduler, seal(graph, gate), undefined);
  if (!from.turnOpen) apply(scheduler, endTurn(graph, 'well'), undefined);
  return from.failing === undefined ? undefined : from.actions.get(from.failing);
}

/**
 * The rounds of `<foreach>`s that the process died in the midst of making. Before anything is given up: others may wait for
 * one of them.
 */
function makeMissing(scheduler: SchedulerCore): void {
  for (const run of [...(scheduler.openLoops ?? [])])
    if (run.attempts > 0 && run.stage === QUEUED) expand(scheduler, run);
}

/** What has not ended: it waits on, is tried again, or nobody will ever know. */
function adopt(scheduler: SchedulerCore, from: SessionState, known: ActionState): void {
  const { action, status, attempts } = known;
  const loop = isLoop(action);
  const begun = attempts > 0;
  const input = known.input ?? reviewOf(from, action.id)?.input ?? hookedInput(from.hooks, action.id);
  const { run, changes } = place(scheduler, action, {
    // What it was to be called with stood: all that it needed was there.
    binding: begun || input !== undefined ? NO_NEEDS : bindingOf(scheduler, action, true),
    undoes: undone(scheduler.state, action),
    turn: begun && !loop ? 'well' : turnOf(from, known),
    cause: undefined,
    holdsStream: false,
    mayBeNamed: true, // `endTurn` looks for the last time, here or once the turn that was open is closed
  });
  run.attempts = attempts;
  run.failures = failuresOf(from, known);
  run.input = input;
  run.since = scheduler.deps.clock.monotonic();
  const again =
    loop || (run.traits !== undefined && mayRunAgain(run.traits, known.input ?? {}) && mayRestart(known));
  if (status === 'running' && !again)
    finish(scheduler, run, { type: 'action.interrupted', id: action.id, attempt: attempts }, action.id);
  else apply(scheduler, changes, undefined);
}

/** A try of an agent that was cut off, or let go of while it waited, is gone on with: it has not failed. */
function failuresOf(from: SessionState, { action, status, attempts }: ActionState): number {
  if (action.kind === 'agent') return from.children.find((each) => each.action === action.id)?.tries ?? 0;
  return status === 'running' ? attempts - 1 : attempts;
}

/** What has ended is in the state; only what it was a part of has to hear of it. */
function recallEnded(scheduler: SchedulerCore, { action, status }: ActionState, made: Gate[]): void {
  const { graph, state } = scheduler;
  const standing = standingOf(scheduler, action.id);
  const because = standing?.state === 'failed' ? standing.because : undefined;
  if (action.output_key !== undefined && action.base === undefined)
    nameKey(scheduler, action.output_key, action.id);
  for (const gate of gatesOf(scheduler, action)) {
    if (!isLoop(action)) apply(scheduler, recall(graph, gate, action.id, because), undefined);
    else {
      made.push(gate);
      if (because !== undefined) apply(scheduler, spoil(graph, gate, because), undefined);
    }
  }
  const undoes = status === 'completed' ? undone(state, action) : undefined;
  if (undoes !== undefined && state.actions.get(undoes)?.status === 'completed')
    scheduler.deps.append({ type: 'action.compensated', id: undoes, by: action.id });
}

/** Further starts of an action that the process died with, time and again: it may be what kills it. */
const MAX_RESTARTS = 10;

/**
 * A sub-agent is a session: it goes on as often as it has to, and its own actions are counted by themselves. So are those
 * that a rollback consists of.
 */
const mayRestart = ({ action, attempts }: ActionState): boolean =>
  action.kind === 'agent' || rollsBack(action) || attempts <= retriesOf(action) + MAX_RESTARTS;

/** Ids of completed actions in the order of their completion, as far as the state knows it: the rest comes first. */
function completionOrder(state: SessionState): string[] {
  const told = [...state.turns.flatMap(({ news }) => news.results), ...state.news.results];
  const known = new Set(told);
  const untold = [...state.actions.keys()].filter((id) => !known.has(id));
  return [...untold, ...told].filter((id) => {
    const status = state.actions.get(id)?.status;
    return status === 'completed' || status === 'compensated';
  });
}

/** How the turn that declared an action has ended, if it has. */
export function turnOf(state: SessionState, { turn }: ActionState): Run['turn'] {
  if (turn === state.turn && state.turnOpen) return 'open';
  const after =
    turn === state.turn ? state.news : state.turns.find((record) => record.turn === turn + 1)?.news;
  return after?.broken === undefined && after?.short === undefined ? 'well' : 'broken';
}

/** Whether a call may be made twice: then it need not wait for its record, and is made again after a crash. */
export const mayRunAgain = (traits: TargetTraits, input: JsonObject): boolean =>
  traits.idempotentFor?.(input) ?? traits.idempotent;
