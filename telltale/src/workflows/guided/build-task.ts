import { asText, deepEqual } from '../../expressions/values.ts';
import { stopWith } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import { stepName } from '../../log/reduce-run.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import { allSteps } from '../machine/composite.ts';
import { timedOut } from '../machine/failures.ts';
import type { LeafCall, LeafPlace } from '../step-executor.ts';
import type { LeafContext, LeafDeps, StepOf } from '../steps/step-deps.ts';
import { resolveInStep } from '../steps/step-deps.ts';
import type { Timed } from './judge-report.ts';
import type { Task } from './task.ts';

/** What is given to who works on it. */
export function buildTask(
  step: StepOf<'task'>,
  { idempotencyKey, attempt, input }: Pick<LeafCall, 'idempotencyKey' | 'attempt' | 'input'>,
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

/** The workflow's own variables that a model may write, each with its schema. */
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

/** A task's own clock. */
export interface TaskTime {
  readonly timed: Timed;
  /** As the step's, with the end of its time: whoever only waits is looked at again then. */
  readonly park: LeafCall['park'];
}

/**
 * The step's `timeout`, for what agent and verifier take. It counts from its start by the log, and anew from a person's
 * last word: what they take is not its time.
 */
export function taskTime(call: LeafCall, { journal: { state }, clock }: LeafContext): TaskTime {
  const timeoutMs = call.step.timeout?.ms;
  if (timeoutMs === undefined) return { timed: (work) => work(call.signal), park: call.park };
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
    park: (waitsFor, due) => call.park(waitsFor, Math.min(due ?? Number.POSITIVE_INFINITY, deadline())),
  };
}

/** What a worker is told: the prompt with the components that join it, the fragments whose tests hold, the references. */
export async function taskPrompt(
  step: StepOf<'task'>,
  place: LeafPlace,
  context: LeafContext,
): Promise<string> {
  const { address, locals } = place;
  const parts = [
    await context.decisions.prompt(step, address, locals),
    ...(await fragmentsOf(step.fragments, place, context)),
  ];
  const { references } = context.workflow;
  if (references.length > 0 && isFirst(step, address, context)) parts.push(referencesText(references));
  return parts.join('\n\n');
}

/** The fragments of a step's prompt whose tests hold: each is decided once for its address, and on the log. */
export async function fragmentsOf(
  fragments: StepOf<'task' | 'plan'>['fragments'],
  place: LeafPlace,
  { decisions, scope }: Pick<LeafContext, 'decisions' | 'scope'>,
): Promise<readonly string[]> {
  const joined: string[] = [];
  for (const [index, { text, if: test }] of fragments.entries()) {
    const holds =
      test === undefined || (await decisions.test(`${place.address}:fragment ${index}`, test, place.locals));
    if (holds) joined.push(asText(await resolveInStep(text, place, { scope })));
  }
  return joined;
}

/** Whether nobody has told its worker of the references yet: a task that a person kept from beginning told nothing. */
function isFirst(
  { agent }: StepOf<'task'>,
  address: string,
  { workflow, journal: { state } }: LeafContext,
): boolean {
  const isOutside = state.origin.client !== undefined; // then one client works on all of them
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
 * Makes what a completed task brings the run's variables. This stands on the log before the step's end: where a process
 * dies between the two, the next walk finds the task passed, sets what is missing and completes the step.
 */
export function applyUpdates(
  updates: JsonObject,
  by: string,
  { cause }: LeafCall,
  { journal }: Pick<LeafDeps, 'journal'>,
): void {
  const { variables } = journal.state;
  for (const [name, to] of Object.entries(updates)) {
    const from = variables.get(name) ?? null;
    if (variables.has(name) && deepEqual(from, to)) continue;
    journal.append({ type: 'variable.changed', name, from, to, by }, cause);
  }
}
