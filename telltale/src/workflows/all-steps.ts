import type { WorkflowManifest } from '../manifest/schema/kinds.ts';
import type { Step } from '../manifest/schema/steps/step.ts';

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
    for (const inner of listsIn(step)) yield* within(inner);
  }
}

/** The lists of steps that stand in a step. */
function listsIn(step: Step): readonly (readonly Step[])[] {
  switch (step.type) {
    case 'parallel':
    case 'race':
      return step.branches;
    case 'foreach':
    case 'loop':
      return [step.body];
    case 'switch':
      return [...step.cases.map(({ body }) => body), step.default ?? []];
    case 'try':
      return [step.body, step.catch ?? [], step.finally ?? []];
    case 'tool':
    case 'relic':
    case 'agent':
    case 'workflow':
    case 'llm':
    case 'task':
    case 'plan':
    case 'script':
    case 'transition':
    case 'set_metadata':
    case 'set_variable':
    case 'notify':
    case 'emit':
    case 'approval':
    case 'wait':
      return [];
  }
}
