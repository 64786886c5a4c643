import type { LeafCall } from '../../leaf.ts';
import type { LeafContext, StepOf } from '../../steps/leaf-edges.ts';
import type { WorkedAction } from '../task.ts';

/** A plan that was executed, as who verifies it sees it. */
export interface PlanClaim {
  /** The plan's number, 1 or 2: a verdict on the log is of one of them. */
  readonly nth: number;
  readonly prompt: string;
  readonly notes: string;
  readonly work: readonly WorkedAction[];
  /** Whether there can be no other plan: then a person decides where the verifier does not let it pass. */
  readonly isLast: boolean;
}

export type PlanVerdict =
  | { readonly kind: 'pass' }
  /** To be planned again with this instruction. */
  | { readonly kind: 'again'; readonly text: string; readonly by: string };

/**
 * Judges a plan that was executed. Puts its verdict on the log, and gives the same one after a restart. Rejects where a
 * person decided that the step has failed.
 */
export type VerifyClaim = (
  step: StepOf<'plan'>,
  claim: PlanClaim,
  call: LeafCall,
  context: LeafContext,
) => Promise<PlanVerdict>;

/** Nobody verifies. */
export const letPass: VerifyClaim = () => Promise.resolve({ kind: 'pass' });
