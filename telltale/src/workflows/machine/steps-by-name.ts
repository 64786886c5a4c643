import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import type { Step } from '../../manifest/schema/steps/step.ts';
import { listsInside } from './composite.ts';

/** Every step of a workflow, those inside of others too: names are unique in it. */
export function stepsByName({ steps, states }: WorkflowManifest): ReadonlyMap<string, Step> {
  const found = new Map<string, Step>();
  const visit = (list: readonly Step[]) => {
    for (const step of list) {
      found.set(step.name, step);
      for (const inner of listsInside(step)) visit(inner);
    }
  };
  visit(steps ?? []);
  for (const state of Object.values(states ?? {})) visit(state.steps);
  return found;
}
