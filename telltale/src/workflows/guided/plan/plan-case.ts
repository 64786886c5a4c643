import type { PlanState, StepState } from '../../../log/run-state.ts';
import type { StepAttempt } from '../../step-executor.ts';
import type { StepContext, StepOf } from '../../steps/step-deps.ts';
import { judgeReport, notVerified, taskLog } from '../judge-report.ts';
import type { WorkedAction } from '../task.ts';
import { withInstructions } from '../verify/verify-work.ts';
import type { Callables } from './callables.ts';

/** The addresses of actions of a step's plans that were begun and have no end. */
export const openActions = ({ step, attempts, guided }: StepState): readonly string[] =>
  (guided?.plans ?? []).flatMap(({ nth, acts }) =>
    [...acts].flatMap(([index, { end }]) =>
      end === undefined ? [actionAddress(step, attempts, nth, index)] : [],
    ),
  );

/** One try of a `plan` step. */
export interface PlanAttempt {
  readonly step: StepOf<'plan'>;
  readonly prompt: string;
  readonly callables: Callables;
  readonly verify: VerifyClaim;
  readonly call: StepAttempt;
  readonly context: StepContext;
}

/** The plans of this try, by the log. */
export const plansOf = ({ call, context }: Pick<PlanAttempt, 'call' | 'context'>): readonly PlanState[] =>
  context.journal.state.steps.get(call.address)?.guided?.plans ?? [];

/** Which request to the model comes next, by the log: plans, and notes that stand there. */
export const nextTurn = ({ call, context }: Pick<PlanAttempt, 'call' | 'context'>): number => {
  const guided = context.journal.state.steps.get(call.address)?.guided;
  return (guided?.plans.length ?? 0) + (guided?.claims.length ?? 0) + 1;
};

/**
 * Where an action stands: `ADDRESS/NTH.INDEX`. Another try of the step plans anew, so its actions are others:
 * `ADDRESS#2/NTH.INDEX`.
 */
export const actionAddress = (address: string, attempt: number, nth: number, index: number): string =>
  `${address}${attempt > 1 ? `#${attempt}` : ''}/${nth}.${index}`;

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
  call: StepAttempt,
  context: StepContext,
) => Promise<PlanVerdict>;

/** By the step's verifier, and a person where that does not let the last plan pass. */
export const verifyClaim: VerifyClaim = async (step, { nth, notes, work, isLast }, call, context) => {
  const { verify: asked } = step;
  if (asked === undefined) return { kind: 'pass' };
  // A plan has no turns to judge, and no more than one other follows it.
  const own = { ...asked, when: 'completion' as const, ...(isLast ? { max_retries: 0 } : {}) };
  const { claims } = taskLog(context.journal.state, call.address).guided;
  const turns = claims.find((claim) => claim.nth === nth)?.turns ?? 0;
  const settled = await judgeReport(
    {
      kind: 'claimed',
      nth,
      by: 'plan',
      turns,
      notes,
      work,
      context_updates: {},
      artifacts: [],
      evidence: [],
    },
    {
      verify: withInstructions(own, call.input.instructions),
      call,
      context,
      timed: (judging) => judging(call.signal),
    },
  );
  switch (settled.kind) {
    case 'pass':
      return { kind: 'pass' };
    case 'again':
      return { kind: 'again', text: settled.text, by: settled.by };
    case 'fail':
      throw notVerified(step.name, settled.by, settled.note);
  }
};
