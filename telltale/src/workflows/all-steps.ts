import type { WorkflowManifest } from '../manifest/schema/kinds.ts';
import type { Step } from '../manifest/schema/steps/step.ts';
import { listsInside } from './machine/composite.ts';

/** What of a workflow holds its steps. */
export type Stepped = Pick<WorkflowManifest, 'steps' | 'states'>;

/** Every step of a workflow, outer before inner; the manifest's check bounds how many and how deep. */
export function* allSteps({ steps = [], states = {} }: Stepped): Generator<Step> {
  yield* within(steps);
  for (const state of Object.values(states)) yield* within(state.steps);
}

function* within(steps: readonly Step[]): Generator<Step> {
  for (const step of steps) {
    yield step;
    for (const inner of listsInside(step)) yield* within(inner);
  }
}
