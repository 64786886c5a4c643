import type { JsonObject } from '../../kernel/json.ts';
import { calledWorkflows, clientRefusal } from '../../session/runs/client-refusal.ts';
import type { LoadedWorkflow } from '../../session/runs/run-types.ts';
import { workflowsOf } from '../../session/runs/workflow-catalog.ts';
import { allSteps } from '../../workflows/all-steps.ts';

/** What a client may know of a workflow before it starts it: what it asks of it, and never what its steps say. */
export function describeWorkflow(name: string, { manifest, agent }: LoadedWorkflow<unknown>): JsonObject {
  const all = workflowsOf(agent);
  const steps = [...calledWorkflows(manifest, all)].flatMap((each) => allSteps(each));
  const tasks = steps.filter(({ type }) => type === 'task').length;
  const refusal = clientRefusal(manifest, all);
  return {
    ...summaryOf(name, { manifest, agent }),
    ...(manifest.version === undefined ? {} : { version: manifest.version }),
    input: (manifest.input ?? { type: 'object' }) as JsonObject,
    /** Loops and branches decide how many of them come up. */
    tasks,
    asksPeople: steps.some(mayAskPeople),
    ...(refusal === undefined ? {} : { refusal: `${refusal.message} ${refusal.hint ?? ''}`.trim() }),
  };
}

export const summaryOf = (
  name: string,
  { manifest, agent }: Pick<LoadedWorkflow<unknown>, 'manifest' | 'agent'>,
): JsonObject => ({
  workflow: name,
  description: manifest.description ?? '',
  agent: agent.manifest.name,
});

type Step = ReturnType<typeof allSteps>[number];

/** A verifier that does not come to an end with who works on it leaves the decision to a person. */
const mayAskPeople = (step: Step): boolean =>
  step.type === 'approval' ||
  (step.type === 'task' && (step.confirm !== undefined || step.verify !== undefined)) ||
  (step.type === 'plan' && (step.approval === 'always' || step.verify !== undefined));
