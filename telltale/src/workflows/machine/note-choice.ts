import type { Step } from '../../manifest/schema/steps/step.ts';
import type { Outcome } from './outcome.ts';
import type { StateVisit } from './walk.ts';

/** A `transition` step decides for the visit of the state it stands in; the last on the log counts. */
export function noteChoice(
  visit: StateVisit | undefined,
  step: Step,
  address: string,
  outcome: Outcome,
): void {
  if (step.type !== 'transition' || outcome.kind !== 'completed' || visit === undefined) return;
  const { output, seq } = outcome;
  const state = typeof output === 'object' && output !== null && 'state' in output ? output.state : undefined;
  if (typeof state === 'string' && seq >= (visit.chosen?.seq ?? 0))
    visit.chosen = { state, step: address, seq };
}
