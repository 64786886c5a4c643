import { added } from '../kernel/grow.ts';
import type { EventOf } from './event.ts';
import type { WorkflowNews } from './news.ts';
import type { TriggerCount } from './reaction-state.ts';
import type { SessionState } from './state.ts';

export function startRun(state: SessionState, event: EventOf<'trigger.fired'>): void {
  const { run, workflow, trigger, seq, cause, seen, chain, at } = event;
  const depth = cause.depth + 1;
  state.runs = added(state.runs, { run, workflow, trigger, seq, depth, seen, chain });
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
