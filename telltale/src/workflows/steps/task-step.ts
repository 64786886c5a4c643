import { asText, deepEqual } from '../../expressions/values.ts';
import { stopWith } from '../../lib/errors.ts';
import { mcpIdentity } from '../../lib/ids.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { stepName } from '../../log/reduce-run.ts';
import type { RunState } from '../../log/run-state.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import {
  confirm,
  decideReport,
  endedStuck,
  type JudgeDeps,
  judgeReport,
  lastReported,
  notVerified,
  type Reported,
  type SettledReport,
  settle,
  type Timed,
  taskLog,
  tooManyReports,
  workFailed,
} from '../guided/judge-report.ts';
import type { Task, TaskReply, TaskReport, WorkerCall } from '../guided/task.ts';
import { resolveInstructions, withInstructions } from '../guided/verify/verify-work.ts';
import { allSteps } from '../machine/composite.ts';
import { timedOut } from '../machine/failures.ts';
import type { StepAttempt, StepInstance } from '../step-executor.ts';
import {
  type PrepareStep,
  resolveInStep,
  type StepContext,
  type StepDeps,
  type StepOf,
} from './step-deps.ts';

/** The maximum number of reports on one attempt. */
const MAX_REPORTS = 10_000;

/**
 * An agent works on the task until its claim is accepted. The output is `{notes, context_updates,
 * artifacts}`.
 */
export const prepareTask: PrepareStep<'task'> = async (step, place, context) => ({
  // The input that was resolved at the start counts, also after a restart.
  input: context.journal.state.steps.get(place.address)?.input ?? (await inputOf(step, place, context)),
  repeatable: true, // its worker continues, and verdicts are on the log
  timesItself: true,
  run: (call) => work(step, call, context),
});

async function inputOf(step: StepOf<'task'>, place: StepInstance, context: StepContext): Promise<JsonObject> {
  const prompt = await taskPrompt(step, place, context);
  const asked =
    step.confirm === undefined
      ? undefined
      : step.confirm === true
        ? `May the step "${step.name}" begin?\n\n${prompt}`
        : asText(await resolveInStep(step.confirm, place, context));
  const instructions = await resolveInstructions(step.verify, place, context);
  return {
    prompt,
    ...(asked === undefined ? {} : { confirm: asked }),
    ...(instructions === undefined ? {} : { instructions }),
  };
}

async function work(step: StepOf<'task'>, call: StepAttempt, context: StepContext): Promise<Json> {
  const { workers, journal } = context;
  const { timed, suspend } = taskTime(call, context);
  const verify = step.verify && withInstructions(step.verify, call.input.instructions);
  const deps: JudgeDeps = { verify, call, context, timed };
  const task = buildTask(step, call, context.workflow);
  const worker = (signal: AbortSignal): WorkerCall => ({
    agent: step.agent,
    step: call.address,
    signal,
    cause: call.cause,
    suspend,
  });
  try {
    const ended = await endOnLog(step, deps);
    if (ended !== undefined) return ended;
    if (typeof call.input.confirm === 'string') await confirm(call.input.confirm, call, context);
    let report: TaskReport = await timed((signal) => workers.give(task, worker(signal)));
    for (;;) {
      if (report.kind === 'failed') throw workFailed(report.error);
      const { nth } = report;
      if (nth > MAX_REPORTS) throw tooManyReports(step.name, MAX_REPORTS);
      const settled = await judgeReport(report, deps);
      const output = outcome(step, report, settled, deps);
      if (output !== undefined) return output;
      // The reply to the worker must be on the log before it is sent.
      await journal.flushed();
      const word = wordOf(settled);
      report = await timed((signal) => workers.answer(task, nth, word, worker(signal)));
    }
  } finally {
    workers.done?.(task); // also if no worker was started, because another task may wait for it
  }
}

/**
 * The output if the log already decides how the attempt ends, so that no worker is needed. Waits for an open
 * decision of a person first.
 */
async function endOnLog(step: StepOf<'task'>, deps: JudgeDeps): Promise<Json | undefined> {
  const { call, context, verify } = deps;
  const log = taskLog(context.journal.state, call.address);
  const last = lastReported(log.guided);
  if (last === undefined) return undefined;
  const isUnjudged = decideReport(last, verify, log).kind === 'verify';
  return isUnjudged ? undefined : outcome(step, last, await settle(last, deps), deps);
}

/** The step's output once it is done. Undefined if its worker continues. Throws if the step has failed. */
function outcome(
  step: StepOf<'task'>,
  reported: Reported,
  settled: SettledReport,
  { call, context }: JudgeDeps,
): Json | undefined {
  if (settled.kind === 'fail') {
    const { by, note } = settled;
    throw reported.kind === 'stuck'
      ? endedStuck(step.name, reported.why, by, note)
      : notVerified(step.name, by, note);
  }
  if (settled.kind !== 'pass' || reported.kind !== 'claimed') return undefined;
  const { state } = context.journal;
  const claim = taskLog(state, call.address).guided.claims.find(({ nth }) => nth === reported.nth);
  const { notes = '', context_updates: updates = {}, artifacts = [] } = claim ?? {};
  call.signal.throwIfAborted();
  applyUpdates(updates, workerOf(state.origin) ?? step.agent ?? state.manifest.agent, call, context);
  return { notes, context_updates: updates, artifacts: [...artifacts] };
}

/**
 * The name of the worker. A client's own name is combined with its identity, because it could choose any
 * name.
 */
const workerOf = ({ client, identity }: RunState['origin']): string | undefined =>
  client === undefined || identity === undefined ? client : mcpIdentity(identity, client);

const wordOf = (settled: SettledReport): TaskReply =>
  settled.kind === 'again' ? { kind: 'again', text: settled.text, by: settled.by } : { kind: 'go_on' };

/** The task as its worker gets it. */
function buildTask(
  step: StepOf<'task'>,
  { idempotencyKey, attempt, input }: Pick<StepAttempt, 'idempotencyKey' | 'attempt' | 'input'>,
  workflow: Pick<WorkflowManifest, 'context_variables'>,
): Task {
  const writable = writableVariables(workflow);
  const required = Object.entries(step.requires).map(([name, schema]) => [
    name,
    { ...writable[name], ...(schema as JsonObject) },
  ]);
  const accepted = Object.entries(writable).filter(([name]) => !Object.hasOwn(step.requires, name));
  return {
    key: `${idempotencyKey}#${attempt}`,
    prompt: String(input.prompt),
    requires: Object.fromEntries(required),
    accepts: Object.fromEntries(accepted),
    evidence: step.evidence,
    ...(step.max_turns === undefined ? {} : { maxTurns: step.max_turns }),
    judgesTurns: step.verify?.when === 'turn',
    ...(step.verify === undefined && !step.confirm ? {} : { checked: true as const }),
  };
}

/** The workflow's variables that a model may write, with their schemas. */
function writableVariables({
  context_variables: { runtime },
}: Pick<WorkflowManifest, 'context_variables'>): Readonly<Record<string, JsonObject>> {
  const writable = runtime.filter(({ writers }) => writers.includes('model'));
  return Object.fromEntries(
    writable.map(({ name, type, description }) => [
      name,
      {
        ...(type === 'any' ? {} : { type }),
        ...(description === undefined ? {} : { description }),
      },
    ]),
  );
}

/** The time of a task. */
export interface TaskTime {
  readonly timed: Timed;
  /** Suspends the step at most until its time is up. */
  readonly suspend: StepAttempt['suspend'];
}

/**
 * Enforces the step's `timeout` for the agent and the verifier. It counts from the start by the log, and
 * again from each answer of a person, because waiting for people does not count.
 */
function taskTime(call: StepAttempt, { journal: { state }, clock }: StepContext): TaskTime {
  const timeoutMs = call.step.timeout?.ms;
  if (timeoutMs === undefined) return { timed: (work) => work(call.signal), suspend: call.suspend };
  const deadline = (): number => {
    const began = state.steps.get(call.address)?.triedAt ?? clock.now();
    const words = state.reviews.flatMap(({ step, answeredAt }) =>
      step === call.address && answeredAt !== undefined ? [answeredAt] : [],
    );
    return Math.max(began, ...words) + timeoutMs;
  };
  return {
    async timed(work) {
      const left = deadline() - clock.now();
      const late = timedOut(call.address, timeoutMs);
      if (left <= 0) throw late;
      const controller = new AbortController();
      const disarm = clock.after(left, () => stopWith(controller, late));
      try {
        return await work(AbortSignal.any([call.signal, controller.signal]));
      } finally {
        disarm();
      }
    },
    suspend: (waitsFor, due) => call.suspend(waitsFor, Math.min(due ?? Number.POSITIVE_INFINITY, deadline())),
  };
}

/** The prompt of a task: its text with components, the fragments whose tests hold, and the references. */
async function taskPrompt(step: StepOf<'task'>, place: StepInstance, context: StepContext): Promise<string> {
  const { address, locals } = place;
  const parts = [
    await context.decisions.prompt(step, address, locals),
    ...(await fragmentsOf(step.fragments, place, context)),
  ];
  const { references } = context.workflow;
  if (references.length > 0 && isFirst(step, address, context)) parts.push(referencesText(references));
  return parts.join('\n\n');
}

/** The fragments whose tests hold. Each is decided once per address and recorded on the log. */
export async function fragmentsOf(
  fragments: StepOf<'task' | 'plan'>['fragments'],
  place: StepInstance,
  { decisions, scope }: Pick<StepContext, 'decisions' | 'scope'>,
): Promise<readonly string[]> {
  const joined: string[] = [];
  for (const [index, { text, if: test }] of fragments.entries()) {
    const holds =
      test === undefined || (await decisions.test(`${place.address}:fragment ${index}`, test, place.locals));
    if (holds) joined.push(asText(await resolveInStep(text, place, { scope })));
  }
  return joined;
}

/**
 * Whether its worker has not got the references yet. A task that a person refused to start showed nothing.
 */
function isFirst(
  { agent }: StepOf<'task'>,
  address: string,
  { workflow, journal: { state } }: StepContext,
): boolean {
  const isOutside = state.origin.client !== undefined; // one client works on all tasks
  const tasks = new Map(
    allSteps(workflow).flatMap((each) => (each.type === 'task' ? [[each.name, each.agent] as const] : [])),
  );
  return ![...state.steps.values()].some(({ step, input, status, error }) => {
    const name = stepName(step);
    if (step === address || input === undefined || !tasks.has(name)) return false;
    const wasRefused = status === 'failed' && error?.code === 'rejected';
    return !wasRefused && (isOutside || tasks.get(name) === agent);
  });
}

function referencesText(references: WorkflowManifest['references']): string {
  const lines = references.map(({ title, source, purpose, authoritative }) => {
    const why = purpose === undefined ? '' : ` (${purpose.replace(/[.\s]+$/, '')})`;
    const counts = authoritative ? '. Where it and something else differ, it counts.' : '';
    return `- ${title}: ${source}${why}${counts}`;
  });
  return ['Documents for this work:', ...lines].join('\n');
}

/**
 * Stores the variables of a completed task. They are on the log before the step's end. If the process dies in
 * between, the next walk finds the accepted claim, sets the missing variables and completes the step.
 */
function applyUpdates(
  updates: JsonObject,
  by: string,
  { cause }: StepAttempt,
  { journal }: Pick<StepDeps, 'journal'>,
): void {
  const { variables } = journal.state;
  for (const [name, to] of Object.entries(updates)) {
    const from = variables.get(name) ?? null;
    if (variables.has(name) && deepEqual(from, to)) continue;
    journal.append({ type: 'variable.changed', name, from, to, by }, cause);
  }
}
