import type { FreeSlot } from '../../engine/slots.ts';
import type { StepState } from '../../events/run-state.ts';
import { toRuntimeError } from '../../kernel/runtime-error.ts';
import type { SimpleStep } from '../../manifest/schema/steps/step.ts';
import type { ReadyLeaf } from '../leaf.ts';
import { attempt, type Tried } from './attempt.ts';
import { enterSlot } from './enter-slot.ts';
import { interrupted } from './failures.ts';
import type { ListOutcome } from './outcome.ts';
import { pauseAfter, pauseUntil } from './pause.ts';
import { type Begun, cancel, complete, fail, failAtOnce } from './settle-step.ts';
import { LET_GO, notBegun, type Place, type Walk } from './walk.ts';

/** Does a step without steps inside, from where the log left it to its end. */
export async function runLeaf(
  walk: Walk,
  step: SimpleStep,
  address: string,
  place: Place,
): Promise<ListOutcome> {
  const known = walk.state.steps.get(address);
  if (known !== undefined && isInDoubt(known)) return interrupt(walk, step, known);
  const { branch, locals } = place;

  let ready: ReadyLeaf;
  try {
    const readying = walk.leaves.ready({ step, address, locals });
    ready = readying instanceof Promise ? await readying : readying;
  } catch (thrown) {
    if (branch.stopped !== undefined) return notBegun(branch);
    const error = toRuntimeError(thrown).toJSON();
    if (known === undefined) return failAtOnce(walk, step, address, error, place.cause);
    return fail(walk, resumed(step, known), error);
  }
  if (branch.stopped !== undefined)
    return known === undefined ? notBegun(branch) : cancel(walk, resumed(step, known), branch.stopped);

  const pinned = known?.again === true ? undefined : known;
  const repeatable = pinned?.repeatable ?? ready.repeatable;
  const input = pinned?.input ?? ready.input;
  let startedAt = known?.startedAt ?? walk.clock.now();
  let triedAt = known?.triedAt ?? startedAt;
  let attempts = known?.attempts ?? 1;
  let cause = known?.cause;
  let begin = known === undefined;
  if (known?.status === 'retrying') {
    await pauseUntil(walk, branch, known.due ?? 0, address);
    if (branch.stopped !== undefined) return cancel(walk, resumed(step, known), branch.stopped);
    attempts++;
    begin = true;
  }

  for (;;) {
    let free: FreeSlot | undefined;
    if (ready.enter !== undefined) {
      free = ready.enterNow?.();
      if (free === undefined) {
        const before = cause && {
          step,
          address,
          startedAt,
          cause,
          attempts: begin ? attempts - 1 : attempts,
        };
        const entered = await enter(walk, step, address, place, ready.enter, before);
        if (typeof entered !== 'function') return entered;
        free = entered;
      }
    }
    let begun: Begun;
    let tried: Tried;
    try {
      if (begin) {
        triedAt = walk.clock.now();
        if (cause === undefined) startedAt = triedAt;
        cause = walk.write(
          { type: 'step.started', step: address, attempt: attempts, input, repeatable },
          place.cause,
        );
        if (!repeatable || !walk.ahead.admits(cause.seq, walk.journal.committedSeq()))
          await walk.journal.flushed();
      }
      if (walk.journal.mayBeLost?.() === true) await walk.journal.flushed();
      begun = { step, address, startedAt, attempts, cause: cause ?? walk.state.started };
      if (branch.stopped !== undefined) return cancel(walk, begun, branch.stopped);
      tried = await tryOnce(walk, place, ready, { begun, input, triedAt, repeatable, step });
    } finally {
      free?.();
    }
    if (tried.kind === 'done') return complete(walk, begun, tried.output);
    if (tried.kind === 'stopped') return cancel(walk, begun, tried.reason);
    const error = tried.error.toJSON();
    const { retry } = step;
    if (retry === undefined || attempts > retry.max) return fail(walk, begun, error);
    const due = walk.clock.now() + pauseAfter(attempts, retry.backoff.ms, walk.random());
    walk.write({ type: 'step.retrying', step: address, attempt: attempts + 1, error, due }, begun.cause);
    await pauseUntil(walk, branch, due, address);
    if (branch.stopped !== undefined) return cancel(walk, begun, branch.stopped);
    attempts++;
    begin = true;
  }
}

/** Waits for its slot, or says how the step ends without one. `before`: its last try, where it has had one. */
async function enter(
  walk: Walk,
  step: SimpleStep,
  address: string,
  { branch, cause }: Place,
  asked: NonNullable<ReadyLeaf['enter']>,
  before: Begun | undefined,
): Promise<FreeSlot | ListOutcome> {
  try {
    const free = await enterSlot(branch, asked);
    if (free !== undefined) return free;
    return before === undefined ? notBegun(branch) : cancel(walk, before, branch.stopped ?? 'cancelled');
  } catch (thrown) {
    if (thrown === LET_GO) throw thrown;
    const error = toRuntimeError(thrown).toJSON();
    return before === undefined ? failAtOnce(walk, step, address, error, cause) : fail(walk, before, error);
  }
}

interface LeafTry {
  readonly begun: Begun;
  readonly step: SimpleStep;
  readonly input: ReadyLeaf['input'];
  readonly triedAt: number;
  readonly repeatable: boolean;
}

function tryOnce(
  walk: Walk,
  { branch, locals }: Place,
  ready: ReadyLeaf,
  { begun, step, input, triedAt, repeatable }: LeafTry,
): Promise<Tried> {
  const { address, attempts, cause } = begun;
  const timeoutMs = ready.timesItself === true ? undefined : (step.timeout?.ms ?? ready.timeoutMs);
  const idempotencyKey = `${walk.state.id}:${address}`;
  return attempt(walk, {
    address,
    branch,
    timeoutMs,
    triedAt,
    mayPark: repeatable,
    run: (signal, park) =>
      ready.run({ step, address, locals, input, attempt: attempts, signal, idempotencyKey, cause, park }),
  });
}

const isInDoubt = ({ status, repeatable }: StepState): boolean =>
  status === 'interrupted' || (status === 'running' && !repeatable);

function interrupt(walk: Walk, step: SimpleStep, known: StepState): ListOutcome {
  const begun = resumed(step, known);
  const { address, attempts, cause } = begun;
  if (known.status === 'running')
    walk.write({ type: 'step.interrupted', step: address, attempt: attempts }, cause);
  return fail(walk, begun, interrupted(address).toJSON());
}

const resumed = (step: SimpleStep, known: StepState): Begun => ({
  step,
  address: known.step,
  startedAt: known.startedAt,
  attempts: known.attempts,
  cause: known.cause,
});
