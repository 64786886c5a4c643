import type { StepState } from '../../../events/run-state.ts';
import { actionAddress } from './plan-case.ts';

/** The addresses of actions of a step's plans that were begun and have no end. */
export const openActions = ({ step, attempts, guided }: StepState): readonly string[] =>
  (guided?.plans ?? []).flatMap(({ nth, acts }) =>
    [...acts].flatMap(([index, { end }]) =>
      end === undefined ? [actionAddress(step, attempts, nth, index)] : [],
    ),
  );
