import { createHash } from 'node:crypto';
import { asText } from '../../expressions/values.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { RunState } from '../../log/run-state.ts';
import { isMap } from '../../manifest/schema/plain-values.ts';
import type { Target } from '../../tools/target.ts';
import type { PreparedStep, StepAttempt, StepInstance } from '../step-executor.ts';
import { checkedTarget } from './call-target.ts';
import type { PrepareStep, StepContext } from './step-deps.ts';
import { resolveMap, stepWhat } from './step-deps.ts';

/** Runs an agent in its own session. Its parameters are those of an action. */
export const prepareAgentStep: PrepareStep<'agent'> = async (step, place, context) =>
  prepareAgentCall(
    step.target,
    await resolveMap(step.parameters, 'parameters', place, context),
    place,
    context,
  );

/** Prepares a call of an agent with resolved parameters. */
export function prepareAgentCall(
  name: string,
  parameters: JsonObject,
  place: Pick<StepInstance, 'step'>,
  context: StepContext,
): PreparedStep {
  const { input, vars } = agentCall(parameters, true);
  if (input.trim() === '') throw nothingToDo(stepWhat(place), name);
  // The workflow's own agent is not among the targets.
  const isOwn = name === context.journal.state.manifest.agent;
  const target = isOwn ? undefined : checkedTarget('agent', name, parameters, context);
  return {
    input: { input, ...(vars === undefined ? {} : { vars }) },
    repeatable: true, // its session is found again and continues
    ...(target?.timeoutMs === undefined ? {} : { timeoutMs: target.timeoutMs }),
    run(call) {
      const { input: text, vars: set } = call.input;
      return context.runAgent({
        agent: name,
        input: String(text),
        ...(isMap(set) ? { vars: set as JsonObject } : {}),
        ...below(call, 'ses', context),
      });
    },
  };
}

/** Runs another workflow in its own run. The calling step is suspended while that run waits. */
export const prepareWorkflowStep: PrepareStep<'workflow'> = async (step, place, context) =>
  prepareWorkflowCall(step.target, await resolveMap(step.parameters, 'parameters', place, context), context);

/** Prepares a call of a workflow with resolved parameters. */
export const prepareWorkflowCall = (
  workflow: string,
  input: JsonObject,
  context: StepContext,
): PreparedStep => ({
  input,
  repeatable: true, // its run is found again and continues
  run: (call) => context.runWorkflow({ workflow, input: call.input, ...below(call, 'run', context) }),
});

const below = (
  { address, signal, cause, suspend }: StepAttempt,
  prefix: 'ses' | 'run',
  { journal }: StepContext,
) => ({ key: childKey(journal.state, address, prefix), step: address, signal, cause, suspend });

const nothingToDo = (what: string, agent: string) =>
  new RuntimeError('bad_parameters', `${what.replace(/^s/, 'S')} gives the agent "${agent}" nothing to do.`, {
    hint: 'Write what it is to do: parameters: { input: … }.',
  });

/** The input of a called agent. */
export interface AgentCall {
  readonly input: string;
  readonly vars?: JsonObject;
}

/** Whether the agent takes variables. */
export const takesVars = ({ parameters: { properties } }: Pick<Target, 'parameters'>): boolean =>
  isMap(properties) && Object.hasOwn(properties, 'vars');

/**
 * Splits parameters: `input` is the text and `vars` the variables. Other parameters are added to the text.
 */
export function agentCall(parameters: JsonObject, hasVars: boolean): AgentCall {
  const { input = '', ...others } = parameters;
  const text = (more: JsonObject) => textOfParameters(asText(input), more);
  const { vars, ...rest } = others;
  return hasVars && isMap(vars) ? { input: text(rest), vars: vars as JsonObject } : { input: text(others) };
}

/** Longer ids are replaced by their hash, because nested rounds make long addresses. */
const MAX_CHARS = 256;
const HASH_CHARS = 32;

/**
 * The id of the session or run that a step calls, the same after a crash, so that it is found again. Each
 * retry gets a new one.
 */
export function childKey({ id: run, steps }: RunState, address: string, prefix: 'ses' | 'run'): string {
  const retries = steps.get(address)?.retries ?? 0;
  const key = `${run}.${address}${retries === 0 ? '' : `#${retries + 1}`}`;
  if (key.length <= MAX_CHARS) return key;
  return `${prefix}_${createHash('sha256').update(key).digest('hex').slice(0, HASH_CHARS)}`;
}

/**
 * A text for a model, followed by further parameters as `name: value` lines. Values that are not text are
 * JSON.
 */
export function textOfParameters(text: string, more: JsonObject): string {
  const lines = Object.entries(more).map(([name, value]) => `${name}: ${asText(value)}`);
  return [...(text.trim() === '' ? [] : [text]), ...(lines.length === 0 ? [] : [lines.join('\n')])].join(
    '\n\n',
  );
}
