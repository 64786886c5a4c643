import { z } from 'zod';
import { choiceByValue } from '../choice.ts';
import { once } from '../once.ts';
import { callSteps } from './call-steps.ts';
import { compositeSteps } from './composite-steps.ts';
import { guidedSteps } from './guided-steps.ts';
import { scriptStep } from './script-step.ts';
import { sessionSteps } from './session-steps.ts';
import { transitionStep } from './transition-step.ts';
import { approvalStep, waitStep } from './waiting-steps.ts';

const simpleSteps = () => ({
  ...callSteps(),
  ...guidedSteps(),
  script: scriptStep(),
  transition: transitionStep(),
  ...sessionSteps(),
  approval: approvalStep(),
  wait: waitStep(),
});
type Simple = ReturnType<typeof simpleSteps>;

type Composite = ReturnType<typeof compositeSteps<unknown>>;
type Own<Type extends keyof Composite, Nested extends string> = Omit<z.output<Composite[Type]>, Nested>;

export type SimpleStep = z.output<Simple[keyof Simple]>;
export type ParallelStep = Own<'parallel', 'branches'> & { readonly branches: readonly (readonly Step[])[] };
export type RaceStep = Own<'race', 'branches'> & { readonly branches: readonly (readonly Step[])[] };
export type ForeachStep = Own<'foreach', 'body'> & { readonly body: readonly Step[] };
export type LoopStep = Own<'loop', 'body'> & { readonly body: readonly Step[] };
export type SwitchStep = Own<'switch', 'cases' | 'default'> & {
  readonly cases: readonly { readonly if: SimpleStep['if'] & {}; readonly body: readonly Step[] }[];
  readonly default?: readonly Step[] | undefined;
};
export type TryStep = Own<'try', 'body' | 'catch' | 'finally'> & {
  readonly body: readonly Step[];
  readonly catch?: readonly Step[] | undefined;
  readonly finally?: readonly Step[] | undefined;
};

/** A step of a workflow, told apart by `type`. */
export type Step = SimpleStep | ParallelStep | RaceStep | ForeachStep | LoopStep | SwitchStep | TryStep;

type Given<Type extends keyof Composite, Nested extends string> = Omit<z.input<Composite[Type]>, Nested>;
type WrittenBranches = { readonly branches: readonly (WrittenStep | readonly WrittenStep[])[] };

/** A step as it stands in a manifest. */
export type WrittenStep =
  | z.input<Simple[keyof Simple]>
  | (Given<'parallel', 'branches'> & WrittenBranches)
  | (Given<'race', 'branches'> & WrittenBranches)
  | (Given<'foreach', 'body'> & { readonly body: readonly WrittenStep[] })
  | (Given<'loop', 'body'> & { readonly body: readonly WrittenStep[] })
  | (Given<'switch', 'cases' | 'default'> & {
      readonly cases: readonly {
        readonly if: NonNullable<z.input<Simple['tool']>['if']>;
        readonly body: readonly WrittenStep[];
      }[];
      readonly default?: readonly WrittenStep[] | undefined;
    })
  | (Given<'try', 'body' | 'catch' | 'finally'> & {
      readonly body: readonly WrittenStep[];
      readonly catch?: readonly WrittenStep[] | undefined;
      readonly finally?: readonly WrittenStep[] | undefined;
    });

/** Every type of step. */
export const step: () => z.ZodType<Step> = once(() => {
  const nested: z.ZodType<Step> = z.lazy(() => step());
  const steps = { ...simpleSteps(), ...compositeSteps(nested) };
  return choiceByValue('A step', 'type', steps).meta({
    id: 'Step',
    description: 'One step of a workflow.',
  });
});
