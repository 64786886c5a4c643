import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import type {
  ForeachStep,
  ParallelStep,
  RaceStep,
  Step,
  StepLoopStep,
  SwitchStep,
  TryStep,
} from '../../manifest/schema/steps/step.ts';

/** Every step of a workflow by name, including inner steps. Names are unique within a workflow. */
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

/** A step with inner steps. */
export type Composite = ParallelStep | RaceStep | ForeachStep | StepLoopStep | SwitchStep | TryStep;

export function isComposite(step: Step): step is Composite {
  switch (step.type) {
    case 'parallel':
    case 'race':
    case 'foreach':
    case 'loop':
    case 'switch':
    case 'try':
      return true;
    default:
      return false;
  }
}

/** The lists of a step's inner steps. */
export function listsInside(step: Step): readonly (readonly Step[])[] {
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
    default:
      return NONE;
  }
}

const NONE: readonly (readonly Step[])[] = [];

/** The parts of a workflow that contain steps. */
export type Stepped = Pick<WorkflowManifest, 'steps' | 'states'>;

/** Every step of a workflow, outer before inner. Validation limits their number and depth. */
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
