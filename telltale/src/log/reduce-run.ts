import type { Cause } from './event.ts';
import { markHook } from './hook-marks.ts';
import type { RunEvent, RunEventOf } from './run-event.ts';
import {
  type ClientTask,
  emptyRun,
  type GuidedState,
  type PlanState,
  type RunState,
  type StepState,
} from './run-state.ts';

/** The name of the step that an address belongs to: its last part, without the number of the visit. */
export function stepName(address: string): string {
  const name = address.slice(address.lastIndexOf('/') + 1);
  return name.includes('~') ? name.replace(/~\d+$/, '') : name;
}

/** Folds one event into `state`, in place, and returns it. Total: what names a step nobody began changes nothing. */
export function reduceRun(state: RunState, event: RunEvent): RunState {
  state.seq = event.seq;
  state.at = event.at;
  switch (event.type) {
    case 'workflow.started':
      begin(state, event);
      break;
    case 'workflow.resumed':
      if (event.files !== undefined) state.manifest = { ...state.manifest, files: event.files };
      state.status = 'running';
      delete state.waiting;
      delete state.error;
      break;
    case 'workflow.changed':
      change(state, event);
      break;
    case 'workflow.waiting':
      state.status = 'waiting';
      state.waiting = { for: event.for, ...(event.due === undefined ? {} : { due: event.due }) };
      break;
    case 'workflow.cancelling':
      state.cancelling ??= { reason: event.reason, by: event.by };
      break;
    case 'workflow.completed':
      state.status = 'completed';
      state.ended = placeOf(event);
      state.output = event.output;
      break;
    case 'workflow.failed':
      state.status = 'failed';
      state.ended = placeOf(event);
      state.error = event.error;
      break;
    case 'workflow.cancelled':
      state.status = 'cancelled';
      state.ended = placeOf(event);
      state.error = { code: 'cancelled', message: event.reason, retryable: false };
      break;
    case 'state.entered':
      state.state = event.state;
      state.visited.push({ state: event.state, visit: event.visit, by: event.by });
      break;
    case 'step.started':
      startStep(state, event);
      break;
    case 'step.completed':
      settle(state, event.step, (step) => {
        step.status = 'completed';
        step.endedSeq = event.seq;
        step.output = event.output;
        step.attempts = event.attempts;
      });
      forgetHooks(state, event.step);
      state.outputs.set(stepName(event.step), event.output);
      if (event.output_key !== undefined) state.variables.set(event.output_key, event.output);
      break;
    case 'step.retrying':
      settle(state, event.step, (step) => {
        step.status = 'retrying';
        step.retries = (step.retries ?? 0) + 1;
        step.error = event.error;
        step.due = event.due;
      });
      break;
    case 'step.failed':
      settle(state, event.step, (step) => {
        step.status = 'failed';
        step.endedSeq = event.seq;
        step.error = event.error;
        step.attempts = event.attempts;
        step.policy = event.policy;
      });
      forgetHooks(state, event.step);
      break;
    case 'step.skipped': {
      const output = event.output_of === undefined ? undefined : state.steps.get(event.output_of)?.output;
      state.steps.set(event.step, {
        ...blankStep(event),
        status: 'skipped',
        reason: event.reason,
        ...(output === undefined ? {} : { output }),
      });
      if (output !== undefined) state.outputs.set(stepName(event.step), output);
      break;
    }
    case 'step.cancelled':
      settle(state, event.step, (step) => {
        step.status = 'cancelled';
        step.endedSeq = event.seq;
        step.reason = event.reason;
      });
      forgetHooks(state, event.step);
      break;
    case 'step.interrupted':
      settle(state, event.step, (step) => {
        step.status = 'interrupted';
        if (event.again === true) beginAgain(state, step, event.at);
      });
      break;
    case 'step.compensating':
      settle(state, event.step, (step) => {
        step.undoing = { repeatable: event.repeatable };
      });
      break;
    case 'step.compensated':
      settle(state, event.step, (step) => {
        step.status = 'compensated';
        delete step.undoing;
        if (event.error !== undefined) step.error = event.error;
      });
      break;
    case 'step.claimed':
    case 'step.stuck':
    case 'verify':
    case 'plan.made':
    case 'plan.acting':
    case 'plan.acted':
      foldGuided(state, event);
      break;
    case 'client.asked':
    case 'client.claimed':
      foldClient(state, event);
      break;
    case 'if.decided':
      state.decided.set(event.at_step, event.held);
      break;
    case 'invoke':
      state.invokes++;
      state.answers.set(event.where, event.result);
      break;
    case 'timer.set':
      state.timers.set(event.id, { due: event.due, fired: false });
      break;
    case 'timer.fired':
      state.timers.set(event.id, { due: state.timers.get(event.id)?.due ?? event.at, fired: true });
      break;
    case 'signal.received':
      state.signals.push({ event: event.event, data: event.data, seq: event.seq });
      break;
    case 'variable.changed':
      state.variables.set(event.name, event.to);
      break;
    case 'review.requested': {
      const { review, step, prompt, options, assignee, kind, nth, due, call, replaces, at, seq } = event;
      state.reviews.push({
        review,
        step,
        prompt,
        options,
        at,
        seq,
        ...(assignee === undefined ? {} : { assignee }),
        ...(kind === undefined ? {} : { kind }),
        ...(nth === undefined ? {} : { nth }),
        ...(due === undefined ? {} : { due }),
        ...(call === undefined ? {} : { call }),
        ...(replaces === undefined ? {} : { replaces }),
      });
      break;
    }
    case 'review.resolved':
      answer(state, event);
      break;
    case 'review.voided':
      state.reviews = state.reviews.map((each) =>
        each.review === event.review ? { ...each, voided: event.changed } : each,
      );
      break;
    case 'hook.ran':
      if (event.hook === 'before_action') state.hooks = markHook(state.hooks, event);
      break;
    case 'budget.charged':
      state.balance = event.balance;
      state.charged += event.amount;
      break;
    case 'model.used':
      state.usage.input += event.usage.input;
      state.usage.output += event.usage.output;
      state.usage.cost_usd += event.cost_usd;
      if (event.usage.estimated === true) state.usage.estimated = true;
      if (event.worker !== undefined) countLed(state, event.worker, event);
      break;
    case 'component.injected':
      state.injected.add(`${event.component} ${event.step}`);
      break;
    case 'audit':
    case 'custom':
      break;
  }
  return state;
}

/** The state after these events, from nothing or from `state`, which is changed. */
export function foldRun(events: Iterable<RunEvent>, state: RunState = emptyRun()): RunState {
  for (const event of events) reduceRun(state, event);
  return state;
}

function begin(state: RunState, event: RunEventOf<'workflow.started'>): void {
  const { run, workflow, manifest, input, origin, vars, balance, at } = event;
  Object.assign(state, { id: run, workflow, manifest, input, origin, startedAt: at });
  state.started = placeOf(event);
  for (const [name, value] of Object.entries(vars)) state.variables.set(name, value);
  if (balance !== undefined) state.balance = balance;
  if (event.steps !== undefined) state.pinned = event.steps;
  if (event.kept !== undefined) state.kept = event.kept;
  if (event.model !== undefined) state.model = event.model;
}

const placeOf = ({ run, seq, cause }: RunEvent): Cause => ({ stream: run, seq, depth: cause.depth + 1 });

const blankStep = (event: RunEvent & { readonly step: string }): StepState => ({
  step: event.step,
  status: 'running',
  attempts: 0,
  repeatable: false,
  startedAt: event.at,
  cause: placeOf(event),
});

function startStep(state: RunState, event: RunEventOf<'step.started'>): void {
  const before = state.steps.get(event.step);
  const step = before ?? blankStep(event);
  step.status = 'running';
  step.attempts = event.attempt;
  step.repeatable = event.repeatable;
  step.triedAt = event.at;
  step.cause = placeOf(event);
  delete step.due;
  delete step.again;
  delete step.guided; // another attempt begins anew
  if (event.input !== undefined) step.input = event.input;
  if (before === undefined) state.steps.set(event.step, step);
}

function change(state: RunState, event: RunEventOf<'workflow.changed'>): void {
  state.manifest = event.manifest;
  state.pinned = event.steps;
  state.change = {
    seq: event.seq,
    replaced: new Map([...(state.change?.replaced ?? []), ...Object.entries(event.replaced)]),
    decided: new Map(Object.entries(event.decided)),
    runNew: new Set([...(state.change?.runNew ?? []), ...event.run_new]),
    ...(event.fails === undefined ? {} : { fails: event.fails }),
  };
}

/** Its next try is due at once. What an earlier definition was given, and what it called or waited for, stays behind. */
function beginAgain(state: RunState, step: StepState, at: number): void {
  step.status = 'retrying';
  step.due = at;
  step.again = true;
  step.retries = (step.retries ?? 0) + 1;
  delete step.input;
  state.timers.delete(step.step);
}

function settle(state: RunState, address: string, change: (step: StepState) => void): void {
  const step = state.steps.get(address);
  if (step !== undefined) change(step);
}

function countLed(state: RunState, session: string, { usage, cost_usd }: RunEventOf<'model.used'>): void {
  const known = state.ledUsage.get(session) ?? { input: 0, output: 0, cost_usd: 0 };
  state.ledUsage.set(session, {
    input: known.input + usage.input,
    output: known.output + usage.output,
    cost_usd: known.cost_usd + cost_usd,
  });
}

/** Of the step, and of the actions of its plan. */
function forgetHooks(state: RunState, address: string): void {
  if (state.hooks.length > 0)
    state.hooks = state.hooks.filter(({ action = '' }) => action !== address && !isInside(action, address));
}

const isInside = (action: string, address: string): boolean =>
  action.startsWith(address) && /^(?:#\d+)?\//.test(action.slice(address.length));

/** The first answer counts. */
function answer(state: RunState, event: RunEventOf<'review.resolved'>): void {
  const { answer: said, choice, by, note, at: answeredAt } = event;
  state.reviews = state.reviews.map((each) =>
    each.review === event.review && each.choice === undefined
      ? { ...each, answer: said, answeredAt, choice, by, ...(note === undefined ? {} : { note }) }
      : each,
  );
}

type GuidedEvent = RunEventOf<
  'step.claimed' | 'step.stuck' | 'verify' | 'plan.made' | 'plan.acting' | 'plan.acted'
>;

/** Folds what is said of the work on a task or a plan. Of another attempt than the one in hand nothing is kept. */
function foldGuided(state: RunState, { seq: _, at: __, run: ___, cause: ____, ...event }: GuidedEvent): void {
  const step = state.steps.get(event.step);
  if (step === undefined || step.attempts !== event.attempt) return;
  step.guided ??= { claims: [], stuck: [], verdicts: [], plans: [] };
  fold(step.guided, event as GuidedEvent);
}

function fold(guided: GuidedState, { type, ...body }: GuidedEvent): void {
  switch (type) {
    case 'step.claimed':
      guided.claims.push(body as GuidedState['claims'][number]);
      break;
    case 'step.stuck':
      guided.stuck.push(body as GuidedState['stuck'][number]);
      break;
    case 'verify':
      guided.verdicts.push(body as GuidedState['verdicts'][number]);
      break;
    case 'plan.made': {
      const { nth, plan, problem } = body as RunEventOf<'plan.made'>;
      guided.plans.push({ nth, plan, ...(problem === undefined ? {} : { problem }), acts: new Map() });
      break;
    }
    case 'plan.acting': {
      const { nth, index, repeatable } = body as RunEventOf<'plan.acting'>;
      planOf(guided, nth)?.acts.set(index, { repeatable });
      break;
    }
    case 'plan.acted': {
      const end = body as RunEventOf<'plan.acted'>;
      const plan = planOf(guided, end.nth);
      plan?.acts.set(end.index, { repeatable: plan.acts.get(end.index)?.repeatable ?? false, end });
      break;
    }
  }
}

const planOf = ({ plans }: GuidedState, nth: number): PlanState | undefined =>
  plans.find((plan) => plan.nth === nth);

/** Folds what passes between a run and the client that works on its tasks. The first claim of a question counts. */
function foldClient(state: RunState, event: RunEventOf<'client.asked' | 'client.claimed'>): void {
  if (event.type === 'client.asked') {
    const { type: _, run: __, cause: ___, ...task } = event;
    state.client ??= [];
    state.client.push(task);
    return;
  }
  const { type: _, run: __, cause: ___, ...claim } = event;
  const asked = questionOf(state, claim);
  if (asked === undefined || asked.claim !== undefined) return;
  asked.claim = claim;
  // It was held for the client, and goes on.
  if (state.status === 'waiting') {
    state.status = 'running';
    delete state.waiting;
  }
}

/** Undefined where it was never put. */
export const questionOf = (
  { client = [] }: Pick<RunState, 'client'>,
  { step, attempt, nth }: Pick<ClientTask, 'step' | 'attempt' | 'nth'>,
): ClientTask | undefined =>
  client.findLast((task) => task.step === step && task.attempt === attempt && task.nth === nth);

/** The questions that a claim is waited for, oldest first. */
export const openQuestions = ({
  client = [],
  steps,
}: Pick<RunState, 'client' | 'steps'>): readonly ClientTask[] =>
  client.filter(({ step, attempt, claim }) => {
    const known = steps.get(step);
    return claim === undefined && known?.status === 'running' && known.attempts === attempt;
  });
