import { toRuntimeError } from '../../kernel/runtime-error.ts';
import { MAX_STEP_DEPTH } from '../../manifest/schema/checks/workflow-steps.ts';
import { createBranch } from './branch.ts';
import type { Composite } from './composite.ts';
import { depthLimit, timedOut } from './failures.ts';
import type { ListOutcome, Outcome } from './outcome.ts';
import { pauseAfter, pauseUntil } from './pause.ts';
import { type Prepared, prepare } from './prepare.ts';
import { type Begun, cancel, complete, fail, failAtOnce } from './settle-step.ts';
import { skipStep } from './skip-step.ts';
import { LET_GO, notBegun, type Place, type Walk } from './walk.ts';

const OUT_OF_TIME = 'the time of the step around it is up';

/** Brings a step with steps inside to its end: time-out, retries and record are those of any step. */
export async function runComposite(
  walk: Walk,
  step: Composite,
  address: string,
  place: Place,
): Promise<Outcome> {
  if (place.depth >= MAX_STEP_DEPTH) {
    walk.fail(depthLimit(address, MAX_STEP_DEPTH).toJSON());
    return notBegun(place.branch);
  }
  const known = walk.state.steps.get(address);
  let prepared: Prepared;
  try {
    prepared = await prepare(walk, step, address, place);
  } catch (thrown) {
    if (thrown === LET_GO) throw thrown;
    if (place.branch.stopped !== undefined) return notBegun(place.branch);
    return failAtOnce(walk, step, address, toRuntimeError(thrown).toJSON(), place.cause);
  }
  if (place.branch.stopped !== undefined) return notBegun(place.branch);
  if (prepared.kind === 'nothing') {
    const skip = { reason: 'condition', because: prepared.because } as const;
    return skipStep(walk, address, place.cause, skip);
  }

  const startedAt = known?.startedAt ?? walk.clock.now();
  let triedAt = known?.triedAt ?? startedAt;
  let attempts = known?.attempts ?? 1;
  let cause = known?.cause;
  let begin = known === undefined;
  let due = known?.status === 'retrying' ? (known.due ?? 0) : undefined;
  for (;;) {
    if (due !== undefined) {
      await pauseUntil(walk, place.branch, due, address);
      if (place.branch.stopped !== undefined) {
        const paused = { step, address, startedAt, attempts, cause: cause ?? walk.state.started };
        return cancel(walk, paused, place.branch.stopped);
      }
      attempts++;
      begin = true;
    }
    if (begin || cause === undefined) {
      triedAt = walk.clock.now();
      const input = prepared.input === undefined ? {} : { input: prepared.input };
      cause = walk.write(
        { type: 'step.started', step: address, attempt: attempts, ...input, repeatable: true },
        place.cause,
      );
    }
    const begun: Begun = { step, address, startedAt, attempts, cause };
    const outcome = await tryOnce(walk, place, begun, triedAt, prepared);
    if (outcome.kind === 'completed') return complete(walk, begun, outcome.output);
    if (outcome.kind === 'cancelled') return cancel(walk, begun, outcome.reason);
    const { error } = outcome;
    const { retry } = step;
    if (retry === undefined || attempts > retry.max) return fail(walk, begun, error);
    due = walk.clock.now() + pauseAfter(attempts, retry.backoff.ms, walk.random());
    walk.write({ type: 'step.retrying', step: address, attempt: attempts + 1, error, due }, cause);
  }
}

/** One try: what stands inside has addresses of its own in each, `build!2/compile`. */
async function tryOnce(
  walk: Walk,
  place: Place,
  { step, address, attempts, cause }: Begun,
  triedAt: number,
  prepared: Extract<Prepared, { readonly kind: 'body' }>,
): Promise<ListOutcome> {
  const inside = attempts === 1 ? address : `${address}!${attempts}`;
  const timeoutMs = step.timeout?.ms;
  const deadline = timeoutMs === undefined ? undefined : triedAt + timeoutMs;
  const branch = createBranch(place.branch, deadline);
  const disarm =
    deadline === undefined
      ? undefined
      : walk.clock.after(Math.max(0, deadline - walk.clock.now()), () => branch.stop(OUT_OF_TIME));
  const inner = { ...place, branch, cause, depth: place.depth + 1 };
  const outcome = await prepared.run(inside, inner).finally(() => {
    disarm?.();
    branch.close();
  });
  if (branch.stopped !== undefined) walk.sweep(inside, branch.stopped);
  if (place.branch.stopped !== undefined)
    return outcome.kind === 'completed' ? outcome : notBegun(place.branch);
  // By the clock alone only where the log has it cancelled already: one that is set back must not undo what a timer said.
  const late = branch.stopped === OUT_OF_TIME || (deadline !== undefined && walk.clock.now() >= deadline);
  if (outcome.kind !== 'cancelled' || !late) return outcome;
  return {
    kind: 'failed',
    error: timedOut(address, timeoutMs ?? 0).toJSON(),
    step: address,
    seq: outcome.seq,
  };
}
