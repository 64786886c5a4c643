import type { PlanState } from '../../../events/run-state.ts';
import type { LeafCall } from '../../leaf.ts';
import type { LeafContext, StepOf } from '../../steps/leaf-edges.ts';
import type { Callables } from './callables.ts';
import type { VerifyClaim } from './verify-claim.ts';

/** One try of a `plan` step. */
export interface PlanCase {
  readonly step: StepOf<'plan'>;
  readonly prompt: string;
  readonly callables: Callables;
  readonly verify: VerifyClaim;
  readonly call: LeafCall;
  readonly context: LeafContext;
}

/** The plans of this try, by the log. */
export const plansOf = ({ call, context }: Pick<PlanCase, 'call' | 'context'>): readonly PlanState[] =>
  context.journal.state.steps.get(call.address)?.guided?.plans ?? [];

/** Which request to the model comes next, by the log: plans, and notes that stand there. */
export const nextTurn = ({ call, context }: Pick<PlanCase, 'call' | 'context'>): number => {
  const guided = context.journal.state.steps.get(call.address)?.guided;
  return (guided?.plans.length ?? 0) + (guided?.claims.length ?? 0) + 1;
};

/**
 * Where an action stands: `ADDRESS/NTH.INDEX`. Another try of the step plans anew, so its actions are others:
 * `ADDRESS#2/NTH.INDEX`.
 */
export const actionAddress = (address: string, attempt: number, nth: number, index: number): string =>
  `${address}${attempt > 1 ? `#${attempt}` : ''}/${nth}.${index}`;
