import type { JsonObject } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { isMap } from '../../manifest/schema/is-map.ts';
import type { LeafCall, LeafPlace, ReadyLeaf } from '../leaf.ts';
import { agentCall } from './agent-call.ts';
import { checkedTarget } from './call-target.ts';
import { childKey } from './child-key.ts';
import type { LeafContext, PrepareLeaf } from './leaf-edges.ts';
import { resolveMap, stepWhat } from './resolve-in-step.ts';

/** Runs an agent in a session of its own. Its parameters are those of an action. */
export const prepareAgentStep: PrepareLeaf<'agent'> = async (step, place, context) =>
  agentLeaf(step.target, await resolveMap(step.parameters, 'parameters', place, context), place, context);

/** As a step that calls this agent, with parameters that are resolved. */
export function agentLeaf(
  name: string,
  parameters: JsonObject,
  place: Pick<LeafPlace, 'step'>,
  context: LeafContext,
): ReadyLeaf {
  const { input, vars } = agentCall(parameters, true);
  if (input.trim() === '') throw nothingToDo(stepWhat(place), name);
  // The agent in whose name the workflow runs is none of those that it calls itself.
  const isOwn = name === context.journal.state.manifest.agent;
  const target = isOwn ? undefined : checkedTarget('agent', name, parameters, context);
  return {
    input: { input, ...(vars === undefined ? {} : { vars }) },
    repeatable: true, // its session is found again and goes on
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

/** Runs another workflow, as a run of its own: what only waits in it lets its caller wait, too. */
export const prepareWorkflowStep: PrepareLeaf<'workflow'> = async (step, place, context) =>
  workflowLeaf(step.target, await resolveMap(step.parameters, 'parameters', place, context), context);

/** As a step that calls this workflow, with parameters that are resolved. */
export const workflowLeaf = (workflow: string, input: JsonObject, context: LeafContext): ReadyLeaf => ({
  input,
  repeatable: true, // its run is found again and goes on
  run: (call) => context.runWorkflow({ workflow, input: call.input, ...below(call, 'run', context) }),
});

const below = (
  { address, signal, cause, park }: LeafCall,
  prefix: 'ses' | 'run',
  { journal }: LeafContext,
) => ({ key: childKey(journal.state, address, prefix), step: address, signal, cause, park });

const nothingToDo = (what: string, agent: string) =>
  new RuntimeError('bad_parameters', `${what.replace(/^s/, 'S')} gives the agent "${agent}" nothing to do.`, {
    hint: 'Write what it is to do: parameters: { input: … }.',
  });
