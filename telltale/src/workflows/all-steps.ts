import type { WorkflowManifest } from '../manifest/schema/kinds.ts';
import type { Step } from '../manifest/schema/steps/step.ts';
import { listsInside } from './machine/composite.ts';

/** What of a workflow holds its steps. */
export type Stepped = Pick<WorkflowManifest, 'steps' | 'states'>;

/** Every step of a workflow, outer before inner; the manifest's check bounds how many and how deep. */
export function allSteps({ steps = [], states = {} }: Stepped): readonly Step[] {
  const all: Step[] = [];
  gather(steps, all);
  for (const state of Object.values(states)) gather(state.steps, all);
  return all;
}

function gather(steps: readonly Step[], all: Step[]): void {
  for (const step of steps) {
    all.push(step);
    for (const inner of listsInside(step)) gather(inner, all);
  }
}
