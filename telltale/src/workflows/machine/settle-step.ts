import type { ErrorJson } from '../../lib/errors.ts';
import type { Json } from '../../lib/json.ts';
import type { Cause } from '../../log/event.ts';
import type { RunEventOf } from '../../log/run-event.ts';
import { isMap } from '../../manifest/schema/plain-values.ts';
import type { Step } from '../../manifest/schema/steps/step.ts';
import type { ListOutcome, StepOutcome, Walk } from './walk.ts';

/** A step in progress, and its last attempt on the log. */
export interface StepInProgress {
  readonly step: Step;
  readonly address: string;
  readonly startedAt: number;
  readonly attempts: number;
  readonly cause: Cause;
}

export function complete(walk: Walk, begun: StepInProgress, output: Json): ListOutcome {
  const { step, address, attempts, cause } = begun;
  const plain = { type: 'step.completed', step: address, output, ms: tookMs(walk, begun), attempts } as const;
  const notes = notesOf(step, output);
  const { output_key } = step;
  const { seq } = walk.write(
    output_key === undefined && notes === undefined
      ? plain
      : {
          ...plain,
          ...(output_key === undefined ? {} : { output_key }),
          ...(notes === undefined ? {} : { notes }),
        },
    cause,
  );
  return { kind: 'completed', output, seq };
}

export function fail(walk: Walk, begun: StepInProgress, error: ErrorJson): ListOutcome {
  const { step, address, attempts, cause } = begun;
  const policy = typeof step.on_error === 'object' ? 'goto' : (step.on_error ?? 'fail');
  const { seq } = walk.write(
    { type: 'step.failed', step: address, error, ms: tookMs(walk, begun), attempts, policy },
    cause,
  );
  return { kind: 'failed', error, step: address, seq };
}

export function cancel(walk: Walk, { address, cause }: StepInProgress, reason: string): ListOutcome {
  const { seq } = walk.write({ type: 'step.cancelled', step: address, reason }, cause);
  return { kind: 'cancelled', reason, seq };
}

/** Starts a step and fails it, because its input cannot be resolved. */
export function failAtOnce(
  walk: Walk,
  step: Step,
  address: string,
  error: ErrorJson,
  around: Cause | undefined,
): ListOutcome {
  const startedAt = walk.clock.now();
  const cause = walk.write({ type: 'step.started', step: address, attempt: 1, repeatable: true }, around);
  return fail(walk, { step, address, startedAt, attempts: 1, cause }, error);
}

/** The notes of an agent that worked on the step are recorded with its output. */
const notesOf = ({ type }: Step, output: Json): string | undefined =>
  (type === 'task' || type === 'plan') && isMap(output) && typeof output.notes === 'string'
    ? output.notes
    : undefined;

const tookMs = ({ clock }: Walk, { startedAt }: StepInProgress): number =>
  Math.max(0, clock.now() - startedAt);

export interface Skip {
  readonly reason: RunEventOf<'step.skipped'>['reason'];
  readonly because?: string;
  readonly output_of?: string;
}

/** Records a skipped step, unless the log has it already. */
export function skipStep(walk: Walk, address: string, cause: Cause | undefined, skip: Skip): StepOutcome {
  const known = walk.state.steps.get(address);
  const seq = known?.cause.seq ?? walk.write({ type: 'step.skipped', step: address, ...skip }, cause).seq;
  return { kind: 'skipped', reason: skip.reason, seq };
}
