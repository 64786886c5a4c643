import type { EventOf } from './event.ts';
import type { SessionState, TaskState } from './state.ts';

/** A task that was given before is not given again. */
export function giveTask(state: SessionState, event: EventOf<'task.given'>): void {
  const { type: _, seq: __, at: ___, session: ____, turn: _____, cause: ______, ...given } = event;
  state.task = {
    given,
    since: state.turn,
    actionsBefore: state.actions.size,
    turns: 0,
    reports: 0,
    warned: false,
    barren: 0,
  };
  state.news.task = given;
  state.idleTurns = 0;
  state.bareTurns = 0;
}

export function claimTask(state: SessionState, event: EventOf<'task.claimed'>): void {
  const { nth, notes, context_updates = {}, artifacts = [], evidence = [] } = event;
  report(state, event.task, { kind: 'claimed', nth, notes, context_updates, artifacts, evidence });
}

export function reportStuck(state: SessionState, { task, nth, why }: EventOf<'task.stuck'>): void {
  const { task: inHand } = state;
  if (inHand?.given.task !== task) return;
  inHand.warned = true;
  inHand.barren = 0;
  if (nth !== undefined) report(state, task, { kind: 'stuck', nth, why });
}

export function reportTurn(state: SessionState, { task, nth }: EventOf<'task.turn'>): void {
  report(state, task, { kind: 'turn', nth });
}

function report(state: SessionState, task: string, open: NonNullable<TaskState['open']>): void {
  if (state.task?.given.task !== task) return;
  state.task.reports = open.nth;
  state.task.open = open;
}

/** What is to be done again begins anew: it was told by somebody else now. */
export function answerReport(state: SessionState, { task, nth, text }: EventOf<'task.answered'>): void {
  const { task: inHand } = state;
  if (inHand?.given.task !== task || inHand.open?.nth !== nth) return;
  delete inHand.open;
  if (text === undefined) return;
  inHand.warned = false;
  inHand.barren = 0;
  state.idleTurns = 0;
  state.bareTurns = 0;
  state.news.messages.push({ from: 'verifier', text });
}

export function endTask(state: SessionState, task: string): void {
  if (state.task?.given.task === task) delete state.task;
}
