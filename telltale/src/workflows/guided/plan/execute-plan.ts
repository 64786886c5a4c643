import { enterGuard } from '../../../engine/in-flight.ts';
import type { FreeSlot } from '../../../engine/slots.ts';
import { evaluateTest } from '../../../expressions/cel/evaluate.ts';
import { parseExpression } from '../../../expressions/cel/parse-expression.ts';
import type { ConditionConditionIssue } from '../../../expressions/issue.ts';
import { parseTemplate, RESERVED_ROOTS } from '../../../expressions/templates/parse-template.ts';
import { type RuntimeError, toRuntimeError } from '../../../lib/errors.ts';
import type { Json, JsonObject } from '../../../lib/json.ts';
import type { PlannedAction, RunEventBody } from '../../../log/run-event.ts';
import type { PlanState } from '../../../log/run-state.ts';
import { clip } from '../../../manifest/schema/show-value.ts';
import { withTimeout } from '../../../tools/abort.ts';
import { resolveDeep } from '../../scope.ts';
import type { PreparedStep, StepAttempt } from '../../step-executor.ts';
import { prepareAgentCall, prepareWorkflowCall } from '../../steps/call-below.ts';
import { callTarget, isRepeatable } from '../../steps/call-target.ts';
import type { StepContext } from '../../steps/step-deps.ts';
import { readTemplates } from '../../templates.ts';
import {
  actionGone,
  actionInterrupted,
  type Callable,
  MAX_RESULTS_CHARS,
  notExpected,
  resultsTooLarge,
  type Trouble,
} from './callables.ts';
import { actionAddress, type PlanAttempt, plansOf } from './plan-case.ts';

type Acted = Extract<RunEventBody, { readonly type: 'plan.acted' }>;

/**
 * Does the actions of a plan, one after the other, from where the log left it: what has an end there is not done again.
 * Ends at the first that fails or gives something else than was expected. Rejects only where the step is stopped.
 */
export async function executePlan(
  current: PlanState,
  planAttempt: PlanAttempt,
): Promise<Trouble | undefined> {
  const results = doneIn(plansOf(planAttempt)).map(({ output }) => output);
  let chars = JSON.stringify(results).length;
  for (const [index, planned] of current.plan.entries()) {
    const known = current.acts.get(index);
    if (known?.end?.held === true) continue;
    const room = MAX_RESULTS_CHARS - chars;
    const end =
      known?.end ?? (await endOf(current, index, { planned, results: [...results], room }, planAttempt));
    if (end.output !== undefined && known?.end === undefined) {
      results.push(end.output);
      chars += JSON.stringify(end.output).length;
    }
    if (!end.held) {
      const { error = { code: 'internal', message: 'It failed.', retryable: false } } = end;
      return { kind: 'failed', planned, index, error };
    }
  }
  return undefined;
}

interface PlannedCall {
  readonly planned: PlannedAction;
  /** What those before it gave. */
  readonly results: readonly Json[];
  /** Characters of JSON that its own may have. */
  readonly room: number;
}

async function endOf(
  current: PlanState,
  index: number,
  turn: PlannedCall,
  planAttempt: PlanAttempt,
): Promise<Pick<Acted, 'held' | 'error' | 'output'>> {
  const known = current.acts.get(index);
  const { planned, results } = turn;
  const { journal, clock } = planAttempt.context;
  const { address: step, attempt, cause, signal } = planAttempt.call;
  const place = { step, attempt, nth: current.nth, index };
  const began = clock.now();
  const ended = (end: Pick<Acted, 'output' | 'error' | 'held'>) => {
    journal.append({ type: 'plan.acted', ...place, ...end, ms: Math.max(0, clock.now() - began) }, cause);
    return end;
  };
  if (known !== undefined && !known.repeatable)
    return ended({ error: actionInterrupted(planned.action).toJSON(), held: false });
  let lost: unknown;
  let leave: FreeSlot | undefined;
  const acting: Acting = async (repeatable) => {
    const { guardNonIdempotent } = planAttempt.context;
    if (!repeatable && guardNonIdempotent !== undefined) leave = await enterGuard(guardNonIdempotent, signal);
    if (known === undefined) journal.append({ type: 'plan.acting', ...place, repeatable }, cause);
    if (repeatable) return;
    await journal.flushed().catch((thrown: unknown) => {
      lost = thrown;
      throw thrown;
    });
  };
  let output: Json;
  try {
    output = await act(turn, actionAddress(step, attempt, current.nth, index), acting, planAttempt);
  } catch (thrown) {
    signal.throwIfAborted();
    if (lost !== undefined) throw lost; // a log that cannot be written is no failure of the action
    return ended({ error: toRuntimeError(thrown).toJSON(), held: false });
  } finally {
    leave?.();
  }
  signal.throwIfAborted();
  const wrong = judged(planned, output, results);
  return ended({
    output,
    held: wrong === undefined,
    ...(wrong === undefined ? {} : { error: wrong.toJSON() }),
  });
}

async function act(
  { planned: { action, parameters }, results, room }: PlannedCall,
  address: string,
  acting: Acting,
  { step, callables, call, context }: PlanAttempt,
): Promise<Json> {
  const called = callables.get(action);
  if (called === undefined) throw actionGone(action);
  const given = await filledParameters(parameters, results, `the action "${action}"`);
  mustTake(called, given);
  const filled = called.target.inFull?.(given) ?? given;
  const named = { id: address, kind: called.kind, name: called.target.name };
  const hooks = context.hooksOf?.(step);
  const { cause, signal } = call;
  const input: JsonObject =
    hooks === undefined
      ? filled
      : await hooks.before({ ...named, parameters: filled, cause, signal }, (changed) =>
          called.target.check(changed),
        );
  const actionCall: StepAttempt = {
    ...call,
    address,
    input,
    attempt: 1,
    idempotencyKey: `${context.journal.state.id}:${address}`,
  };
  const asked = { ...named, parameters: input, cause, signal };
  try {
    const given = (await performAction(called, actionCall, context, acting)) ?? null;
    const output = hooks === undefined ? given : await hooks.after(asked, given);
    const chars = JSON.stringify(output).length;
    if (chars > room) throw resultsTooLarge(action, chars);
    return output;
  } catch (thrown) {
    if (!signal.aborted) await hooks?.failed(asked, toRuntimeError(thrown).toJSON());
    throw thrown;
  }
}

function judged({ expect }: PlannedAction, output: Json, results: readonly Json[]): RuntimeError | undefined {
  if (expect === undefined) return undefined;
  const why = unmet(expect, output, results);
  return why === undefined ? undefined : notExpected(expect, output, why);
}

/** Told, before the call is made and behind a person's approval, whether it may be made again after a crash. */
export type Acting = (repeatable: boolean) => Promise<void>;

/** Calls one target as a step would, with parameters that are resolved: nothing in them is looked up once more. */
async function performAction(
  { kind, target }: Callable,
  call: StepAttempt,
  context: StepContext,
  acting: Acting,
): Promise<Json> {
  const { input, signal } = call;
  const inTime = (work: (signal: AbortSignal) => Promise<Json>) =>
    withTimeout(signal, secondsOf(target.timeoutMs), `${kind} "${target.name}"`, context.clock, work);
  switch (kind) {
    case 'tool':
    case 'relic': {
      const noted = {
        ...target,
        async run(made: Parameters<typeof target.run>[0]) {
          await acting(isRepeatable(target, input));
          signal.throwIfAborted();
          return inTime((stop) => target.run({ ...made, signal: stop }));
        },
      };
      return callTarget(noted, call, context);
    }
    case 'agent':
      return below(prepareAgentCall(target.name, input, call, context));
    case 'workflow':
      return below(prepareWorkflowCall(target.name, input, context));
  }

  async function below(prepared: PreparedStep): Promise<Json> {
    await acting(prepared.repeatable);
    signal.throwIfAborted();
    return inTime((stop) => prepared.run({ ...call, input: prepared.input, signal: stop }));
  }
}

const secondsOf = (ms: number | undefined): number | undefined =>
  ms === undefined || !Number.isFinite(ms) ? undefined : ms / 1000;

/** Refuses what the target does not take. Throws. */
function mustTake({ target }: Callable, input: JsonObject): void {
  const wrong = target.check(input);
  if (wrong !== undefined) throw wrong;
}

const ROOTS: ReadonlySet<string> = new Set(['result', 'results']);

/** What is wrong with a test, before anything was done; undefined if nothing is. */
export function wrongExpectation(expect: string): string | undefined {
  const expression = parseExpression(expect);
  if (!expression.ok) return `"expect" cannot be read: ${told(expression.error)}`;
  const other = expression.value.names.find(({ root }) => !ROOTS.has(root));
  return other === undefined
    ? undefined
    : `"expect" reads "${other.root}"; it sees only result (what this action gave) and results (what those before it gave).`;
}

/** Why what was expected did not come; undefined where it did. A test that cannot be evaluated does not hold. */
function unmet(expect: string, result: Json, results: readonly Json[]): string | undefined {
  const expression = parseExpression(expect);
  if (!expression.ok) return told(expression.error);
  const held = evaluateTest(expression.value, { result, results });
  if (!held.ok) return `The test could not be evaluated: ${told(held.error)}`;
  return held.value ? undefined : 'It does not hold.';
}

const told = ({ message, hint }: ConditionConditionIssue): string =>
  hint === undefined ? message : `${message} ${hint}`;

/** Dollars and a brace, and whether what follows can be meant as a result. */
const OTHER = /(\$+)\{(?!\s*results?\b)/g;
const REFERENCE = /(\$+)\{\s*(results?)\b/g;
/** A whole text that was surely meant as a reference, to something that a plan cannot refer to. */
const MISTAKEN = new RegExp(
  `^\\s*\\$\\{\\s*(?:${[...RESERVED_ROOTS, 'output', 'outputs', 'action', 'actions'].join('|')})\\b[^{}]*\\}\\s*$`,
);

/**
 * What stands for a result in the parameters of a plan is `${results[N].path}`, and nothing else is a reference: other
 * `${…}` is text, as it stands in programs, so that no plan reads the run, the agent or the environment.
 */
export function referenceIn(text: string): 'whole' | 'part' | undefined {
  if (text.search(REFERENCE) === -1) return undefined;
  const template = parseTemplate(escapedText(text), { names: ['results'] });
  if (!template.ok) return 'part'; // what is wrong with it is told elsewhere
  const { pieces } = template.value;
  if (pieces.every(({ kind }) => kind === 'text')) return undefined;
  return pieces.length === 1 ? 'whole' : 'part';
}

export function holdsReference(value: Json): boolean {
  if (typeof value === 'string') return referenceIn(value) !== undefined;
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsReference);
}

/** What is wrong with the references of an action that stands at `position`; undefined if nothing is. */
export function wrongReference(parameters: JsonObject, position: number): string | undefined {
  const mistaken = textsIn(parameters).map(mistakenIn).find(Boolean);
  if (mistaken !== undefined) return `"${clip(mistaken)}" refers to nothing. ${RULE}`;
  try {
    const { references } = readTemplates(escaped(parameters), ['results'], 'the parameters');
    for (const { root, path } of references) {
      if (root !== 'results') return `"${root}" cannot be referred to. ${RULE}`;
      const [index] = path;
      if (index === undefined) continue;
      if (typeof index !== 'number')
        return `"results.${clip(index)}" does not exist: results is a list. ${RULE}`;
      if (index >= position)
        return position === 0
          ? `it refers to results[${index}], but there are no results before it.`
          : `it refers to results[${index}], but only results[0] to results[${position - 1}] come before it.`;
    }
    return undefined;
  } catch (thrown) {
    return toRuntimeError(thrown).message;
  }
}

/** The parameters with results in place of what refers to them. Rejects with `bad_reference` or `input_too_large`. */
export const filledParameters = async (
  parameters: JsonObject,
  results: readonly Json[],
  what: string,
): Promise<JsonObject> =>
  (await resolveDeep(
    escaped(parameters),
    { forTemplate: async () => ({ results }) },
    { what, locals: { results } },
  )) as JsonObject;

const RULE = 'Only ${results[N].path} is a reference: N counts the actions from 0.';

const mistakenIn = (text: string): string | undefined => {
  if (MISTAKEN.test(text)) return text.trim();
  const slip = [...text.matchAll(REFERENCE)].find(
    ([, dollars = '', name]) => dollars.length % 2 === 1 && name === 'result',
  );
  return slip === undefined ? undefined : text.slice(slip.index);
};

function textsIn(value: Json): readonly string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/** With every `${` that is no reference written as the text that it is. */
function escaped(value: Json): Json {
  if (typeof value === 'string') return escapedText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(escaped);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, escaped(item)]));
}

const escapedText = (text: string): string => text.replace(OTHER, '$1$1{');

/** An action that gave something, whether or not that was expected. Its place among these is its place in `results`. */
export interface DoneAction {
  readonly nth: number;
  readonly index: number;
  readonly planned: PlannedAction;
  readonly output: Json;
  readonly held: boolean;
}

/** What was done so far for these plans, by the log. */
export const doneIn = (plans: readonly PlanState[]): readonly DoneAction[] =>
  plans.flatMap(({ nth, plan, acts }) =>
    plan.flatMap((planned, index) => {
      const end = acts.get(index)?.end;
      return end?.output === undefined
        ? []
        : [{ nth, index, planned, output: end.output, held: end.held } satisfies DoneAction];
    }),
  );
