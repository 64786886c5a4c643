import { type ActionState, completesStep } from './action.ts';
import type { Cause, EventOf, SessionEvent } from './event.ts';
import type { SessionState, TaskState, TriggerCount } from './state.ts';
import type { WorkflowNews } from './turn-record.ts';

export function startRun(state: SessionState, event: EventOf<'trigger.fired'>): void {
  const { run, workflow, trigger, seq, cause, seen, chain, at } = event;
  const depth = cause.depth + 1;
  state.runs = [...state.runs, { run, workflow, trigger, seq, depth, seen, chain }];
  countTrigger(state, trigger, (before) => ({ ...before, times: before.times + 1, at }));
}

/** What is decided by the question to an artifact that a trigger's test is: `trigger WORKFLOW#0`. */
export const TRIGGER_QUESTION = 'trigger ';

export function hearAnswer(state: SessionState, { where, result }: EventOf<'invoke'>): void {
  if (!where.startsWith(TRIGGER_QUESTION)) return;
  const trigger = where.slice(TRIGGER_QUESTION.length);
  countTrigger(state, trigger, (before) => ({ ...before, held: result === true }));
}

function countTrigger(
  state: SessionState,
  trigger: string,
  change: (before: TriggerCount) => TriggerCount,
): void {
  const before = state.triggers.find((each) => each.trigger === trigger);
  const others = before === undefined ? state.triggers : state.triggers.filter((each) => each !== before);
  state.triggers = [...others, change(before ?? { trigger, times: 0, at: 0 })];
}

export function endRun(
  state: SessionState,
  event: EventOf<'workflow.completed' | 'workflow.failed' | 'workflow.cancelled'>,
): void {
  state.runs = state.runs.filter(({ run }) => run !== event.run);
  forgetOrders(state, event.run);
  if (event.told !== true) return;
  const { run, workflow } = event;
  state.news.workflows = [...(state.news.workflows ?? []), { run, workflow, ...endOf(event) }];
}

export function takeOrder(state: SessionState, { run, key }: EventOf<'workflow.asked'>): void {
  const before = state.orders.find((each) => each.run === run);
  const others = state.orders.filter((each) => each !== before);
  state.orders = [...others, { run, keys: [...(before?.keys ?? []), key] }];
}

/** Of a run that has ended, of its later tries, and of the runs that it called. */
export function forgetOrders(state: SessionState, ended: string): void {
  if (state.orders.length > 0)
    state.orders = state.orders.filter(
      ({ run }) => run !== ended && !run.startsWith(`${ended}.`) && !run.startsWith(`${ended}~`),
    );
}

function endOf(
  event: EventOf<'workflow.completed' | 'workflow.failed' | 'workflow.cancelled'>,
): Pick<WorkflowNews, 'status' | 'about'> {
  switch (event.type) {
    case 'workflow.completed':
      return { status: 'completed', about: event.output };
    case 'workflow.failed':
      return { status: 'failed', about: event.error };
    case 'workflow.cancelled':
      return { status: 'cancelled', about: event.reason };
  }
}

export function setTimer(state: SessionState, event: EventOf<'timer.set'>): void {
  const { id, due, data, session, seq, cause } = event;
  const place = { stream: session, seq, depth: cause.depth + 1 };
  const others = state.timers.filter((timer) => timer.id !== id);
  state.timers = [...others, { id, due, cause: place, ...(data === undefined ? {} : { data }) }];
}

export function fireTimer(state: SessionState, id: string): void {
  state.timers = state.timers.filter((timer) => timer.id !== id);
}

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
  state.news.messages.push({ from: 'verifier', text });
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
