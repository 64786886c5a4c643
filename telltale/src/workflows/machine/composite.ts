import type {
  ForeachStep,
  LoopStep,
  ParallelStep,
  RaceStep,
  Step,
  SwitchStep,
  TryStep,
} from '../../manifest/schema/steps/step.ts';

/** A step with steps inside. */
export type Composite = ParallelStep | RaceStep | ForeachStep | LoopStep | SwitchStep | TryStep;

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

/** The lists of steps inside of a step. */
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
