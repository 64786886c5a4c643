import type { RunJournal } from '../../engine/run-log.ts';
import type { StepState } from '../../log/run-state.ts';
import type { Step } from '../../manifest/schema/steps/step.ts';
import type { Stepped } from '../machine/composite.ts';
import { interrupted } from '../machine/failures.ts';
import { failAtOnce, skipStep } from '../machine/settle-step.ts';
import type { ListContext, StepOutcome, Walk } from '../machine/walk.ts';
import { childKey } from '../steps/call-below.ts';
import { isOpen, pathOf, pinSteps, replacedBy } from './plan-changes.ts';

/**
 * Closes open steps that an accepted change has decided or removed. Returns the ids of runs and sessions that
 * they may have called, so that these can be cancelled. A process that is killed halfway does the rest the
 * next time.
 */
export function closeChangedSteps(journal: RunJournal, workflow: Stepped, now: number): readonly string[] {
  const { state } = journal;
  const { change } = state;
  if (change === undefined) return [];
  const paths = new Set(pinSteps(workflow).map(({ at }) => at));
  const left: string[] = [];
  // Inner steps started later and end before outer ones.
  for (const known of [...state.steps.values()].reverse()) {
    if (!isOpen(known) || known.again === true || known.cause.seq > change.seq) continue;
    const isGone = !paths.has(pathOf(known.step));
    const decision = change.decided.get(known.step);
    if (decision === undefined && !isGone) continue;
    left.push(childKey(state, known.step, 'run'), childKey(state, known.step, 'ses'));
    close(journal, known, decision, isGone, now);
  }
  return left;
}

function close(
  journal: RunJournal,
  known: StepState,
  decision: { readonly as: string; readonly output?: unknown } | undefined,
  isGone: boolean,
  now: number,
): void {
  const { step, attempts, cause, startedAt } = known;
  const ms = Math.max(0, now - startedAt);
  if (decision === undefined) {
    journal.append({ type: 'step.cancelled', step, reason: 'the changed workflow no longer has it' }, cause);
    return;
  }
  if (decision.as === 'rerun' && !isGone) {
    journal.append({ type: 'step.interrupted', step, attempt: attempts, again: true }, cause);
    return;
  }
  if (known.status !== 'interrupted')
    journal.append({ type: 'step.interrupted', step, attempt: attempts }, cause);
  if (decision.as === 'rerun')
    journal.append({ type: 'step.cancelled', step, reason: 'it runs again under its new name' }, cause);
  else if (decision.as === 'skip')
    journal.append(
      { type: 'step.completed', step, output: (decision.output ?? null) as never, ms, attempts },
      cause,
    );
  else if (isGone)
    journal.append(
      { type: 'step.failed', step, error: interrupted(step).toJSON(), ms, attempts, policy: 'fail' },
      cause,
    );
}

/**
 * How a step that an accepted change has added ends without running: it replaced a step that has run, or the
 * run is past its position (`isPast`). Undefined if it runs like any other step.
 */
export function settleNewStep(
  walk: Walk,
  step: Step,
  address: string,
  place: ListContext,
  isPast: () => boolean,
): StepOutcome | undefined {
  const { state } = walk;
  const { change } = state;
  if (change === undefined || state.steps.has(address) || change.runNew.has(pathOf(address)))
    return undefined;
  const before = replacedBy(state, change, address);
  if (before !== undefined) {
    const decision = change.decided.get(before.step)?.as;
    if (decision === 'rerun' || before.status === 'cancelled') return undefined;
    if (decision === 'fail')
      return failAtOnce(walk, step, address, interrupted(before.step).toJSON(), place.cause);
    const because = `it took the place of "${before.step}"`;
    return skipStep(walk, address, place.cause, { reason: 'changed', because, output_of: before.step });
  }
  if (place.isOver !== true && !isPast()) return undefined;
  return skipStep(walk, address, place.cause, { reason: 'changed', because: 'its place had passed' });
}
