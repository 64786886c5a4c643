import { added } from '../kernel/grow.ts';
import { type ActionState, completesStep } from './action.ts';
import type { Cause, EventOf, SessionEvent } from './event.ts';
import type { SessionState } from './state.ts';
import type { TaskState } from './task-state.ts';

/** Different calls of one task that are told apart, and how much of each is compared. */
const MAX_TRIED = 200;
const MAX_COMPARED = 1_000;

type Reporting = EventOf<'task.claimed' | 'task.stuck' | 'task.turn'>;

export function giveTask(state: SessionState, event: EventOf<'task.given'>): void {
  const { type: _, seq: __, at: ___, session: ____, turn: _____, cause: ______, ...given } = event;
  const place = placeOf(event);
  const watch = { warned: false, tried: [], fresh: true, barren: 0 };
  state.task = { given, place, since: state.turn, turns: 0, reports: 0, ...watch };
  state.news.task = given;
  state.idleTurns = 0;
  state.bareTurns = 0;
}

export function claimTask(state: SessionState, event: EventOf<'task.claimed'>): void {
  const { nth, notes, context_updates = {}, artifacts = [], evidence = [] } = event;
  report(state, event, { kind: 'claimed', nth, notes, context_updates, artifacts, evidence });
}

export function reportStuck(state: SessionState, event: EventOf<'task.stuck'>): void {
  const { task, nth, why } = event;
  const { task: inHand } = state;
  if (inHand?.given.task !== task) return;
  inHand.warned = true;
  watchAnew(inHand);
  if (nth !== undefined) report(state, event, { kind: 'stuck', nth, why });
}

export function reportTurn(state: SessionState, event: EventOf<'task.turn'>): void {
  report(state, event, { kind: 'turn', nth: event.nth });
}

function report(state: SessionState, event: Reporting, open: NonNullable<TaskState['open']>): void {
  if (state.task?.given.task !== event.task) return;
  state.task.reports = open.nth;
  state.task.open = open;
  state.task.reported = placeOf(event);
  state.task.reportedIn = state.turn;
}

export function answerReport(state: SessionState, { task, nth, text }: EventOf<'task.answered'>): void {
  const { task: inHand } = state;
  if (inHand?.given.task !== task || inHand.open?.nth !== nth) return;
  delete inHand.open;
  if (text === undefined) return;
  inHand.warned = false;
  watchAnew(inHand);
  state.idleTurns = 0;
  state.bareTurns = 0;
  state.news.messages = added(state.news.messages, { from: 'verifier', text });
}

export function endTask(state: SessionState, task: string): void {
  if (state.task?.given.task === task) delete state.task;
}

const placeOf = ({ session, seq, cause }: SessionEvent): Cause => ({
  stream: session,
  seq,
  depth: cause.depth + 1,
});

/** Somebody had a word about it: what was tried before does not count any more. */
function watchAnew(task: TaskState): void {
  task.tried = [];
  task.fresh = true;
  task.barren = 0;
}

/** An action has ended: what was done before in the same way is nothing new. */
export function noteTried(task: TaskState, { action, input = {}, status }: ActionState): void {
  if (completesStep(action)) return;
  const what = `${action.kind} ${action.name} ${JSON.stringify(input)}`.slice(0, MAX_COMPARED);
  const known = task.tried.find((each) => each.what === what);
  if (known !== undefined) known.times++;
  else {
    if (task.tried.push({ id: action.id, what, times: 1 }) > MAX_TRIED) task.tried.shift();
    if (status === 'completed') task.fresh = true;
  }
}

/** A turn begins: whether the one before it brought anything new is known now. */
export function countBarren(task: TaskState): void {
  task.barren = task.fresh ? 0 : task.barren + 1;
  task.fresh = false;
}
