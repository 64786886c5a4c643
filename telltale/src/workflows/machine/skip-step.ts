import type { Cause } from '../../events/event.ts';
import type { RunEventOf } from '../../events/run-event.ts';
import type { Outcome } from './outcome.ts';
import type { Walk } from './walk.ts';

export interface Skip {
  readonly reason: RunEventOf<'step.skipped'>['reason'];
  readonly because?: string;
  readonly output_of?: string;
}

/** Records a step that does not run, where the log has nothing of it yet. */
export function skipStep(walk: Walk, address: string, cause: Cause | undefined, skip: Skip): Outcome {
  const known = walk.state.steps.get(address);
  const seq = known?.cause.seq ?? walk.write({ type: 'step.skipped', step: address, ...skip }, cause).seq;
  return { kind: 'skipped', reason: skip.reason, seq };
}
