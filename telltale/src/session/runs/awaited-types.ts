import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import { allSteps } from '../../workflows/all-steps.ts';

/** The types of events that steps of a workflow, and of those that it calls, wait for. */
export function awaitedTypes(
  workflow: WorkflowManifest,
  all: ReadonlyMap<string, WorkflowManifest>,
): ReadonlySet<string> {
  const types = new Set<string>();
  const reached = new Set([workflow]);
  // A Set is walked in the order of insertion, with what is added on the way.
  for (const manifest of reached)
    for (const step of allSteps(manifest)) {
      if (step.type === 'wait' && 'event' in step) types.add(step.event);
      const called = step.type === 'workflow' ? all.get(step.target) : undefined;
      if (called !== undefined) reached.add(called);
    }
  return types;
}

/** The workflows that steps of a workflow call. */
export const calledBy = (workflow: WorkflowManifest): readonly string[] =>
  allSteps(workflow).flatMap((step) => (step.type === 'workflow' ? [step.target] : []));
