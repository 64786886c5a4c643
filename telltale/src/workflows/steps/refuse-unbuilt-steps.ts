import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import { allSteps } from '../all-steps.ts';

/** Throws `not_built` where a workflow has steps that cannot be run yet: before its first, not in its midst. */
export function refuseUnbuiltSteps(workflow: Pick<WorkflowManifest, 'name' | 'steps' | 'states'>): void {
  const found = [...allSteps(workflow)].filter(({ type }) => type === 'task');
  if (found.length > 0) throw unbuilt(workflow.name, found);
}

export const unbuilt = (
  workflow: string,
  steps: readonly { readonly name: string; readonly type: string }[],
) =>
  new RuntimeError(
    'not_built',
    `The workflow "${workflow}" has steps that cannot be run yet: ${steps.map(({ name, type }) => `"${name}" (type: ${type})`).join(', ')}.`,
    { hint: 'Leave them out, or run an agent in their place: "type: agent".' },
  );
