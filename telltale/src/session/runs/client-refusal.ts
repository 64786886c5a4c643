import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import { allSteps } from '../../workflows/all-steps.ts';

/** The workflow and all that it calls, itself first. */
export function calledWorkflows(
  workflow: WorkflowManifest,
  all: ReadonlyMap<string, WorkflowManifest>,
): ReadonlySet<WorkflowManifest> {
  const reached = new Set([workflow]);
  // A Set is walked in the order of insertion, with what is added on the way.
  for (const manifest of reached)
    for (const step of allSteps(manifest)) {
      const called = step.type === 'workflow' ? all.get(step.target) : undefined;
      if (called !== undefined) reached.add(called);
    }
  return reached;
}

/** Why a client cannot work on a workflow's tasks; undefined where it can. */
export function clientRefusal(
  workflow: WorkflowManifest,
  all: ReadonlyMap<string, WorkflowManifest>,
): RuntimeError | undefined {
  for (const { name, ...manifest } of calledWorkflows(workflow, all))
    for (const step of allSteps(manifest))
      if (step.type === 'task' && step.evidence.length > 0)
        return cannotProve(name, step.name, step.evidence);
  return undefined;
}

const cannotProve = (workflow: string, step: string, evidence: readonly string[]) =>
  new RuntimeError(
    'no_evidence',
    `The workflow "${workflow}" cannot be worked on by a client: its step "${step}" demands proof of calls (${evidence.join(', ')}), and what a client does is not on any log here.`,
    {
      hint: 'Run it with an agent of this runtime (telltale workflow run), or take "evidence" out of the step and judge it by "verify".',
    },
  );
