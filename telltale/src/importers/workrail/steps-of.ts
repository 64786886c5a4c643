import type { IssuePath } from '../../manifest/issue.ts';
import type { WorkrailWorkflow } from './shape.ts';
import type { WorkrailStep } from './shape-step.ts';

export interface PlacedStep {
  readonly step: WorkrailStep;
  /** Where it stands in its file. */
  readonly path: IssuePath;
}

/** Every step of a workflow, those inside loops behind their loop. */
export function* stepsOf({ steps }: Pick<WorkrailWorkflow, 'steps'>): Generator<PlacedStep> {
  for (const [index, step] of steps.entries()) {
    yield { step, path: ['steps', index] };
    if (step.type !== 'loop' || typeof step.body === 'string') continue;
    for (const [nth, inner] of step.body.entries())
      yield { step: inner, path: ['steps', index, 'body', nth] };
  }
}
