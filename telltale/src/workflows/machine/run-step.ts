import { toRuntimeError } from '../../kernel/runtime-error.ts';
import type { Step } from '../../manifest/schema/steps/step.ts';
import { settleNewStep } from '../changes/follow-change.ts';
import { isComposite } from './composite.ts';
import { stepLimit } from './failures.ts';
import { MAX_STEP_INSTANCES } from './limits.ts';
import { noteChoice } from './note-choice.ts';
import { endOnLog, type Outcome } from './outcome.ts';
import { runComposite } from './run-composite.ts';
import { runLeaf } from './run-leaf.ts';
import { failAtOnce } from './settle-step.ts';
import { type Skip, skipStep } from './skip-step.ts';
import { showTest, takeTest } from './take-test.ts';
import { LET_GO, notBegun, type Place, type Walk } from './walk.ts';

/** What came before a step in its list. */
export interface Before {
  /** A step whose failure nothing has handled: only `always` and `on_failure` steps run now. */
  readonly unhandled?: string | undefined;
  /** A step that failed, handled or not. */
  readonly failed?: string | undefined;
  /** What a step that does not run for it is recorded with. */
  readonly reason: Skip['reason'];
  /** Whether a step behind it has begun: only where a changed workflow was accepted can that be. */
  readonly isPast: () => boolean;
}

/** Brings one step of a list to its end, or takes its end from the log: then at once. */
export function runStep(
  walk: Walk,
  step: Step,
  address: string,
  place: Place,
  before: Before,
): Outcome | Promise<Outcome> {
  const known = walk.state.steps.get(address);
  const ended = known === undefined ? undefined : endOnLog(known);
  if (ended !== undefined) return ended; // what a `transition` has chosen, its state was told before
  if (place.branch.stopped !== undefined) return notBegun(place.branch);
  if (known !== undefined) return perform(walk, step, address, place);
  const settled = settleNewStep(walk, step, address, place, before.isPast);
  if (settled !== undefined) return settled;
  // Most steps have no condition: what need not be waited for is not, here and below.
  if (step.condition !== undefined || step.if !== undefined)
    return tested(walk, step, address, place, before);
  const { unhandled, reason } = before;
  return begin(
    walk,
    step,
    address,
    place,
    unhandled === undefined ? undefined : { reason, because: unhandled },
  );
}

async function tested(
  walk: Walk,
  step: Step,
  address: string,
  place: Place,
  before: Before,
): Promise<Outcome> {
  let skip: Skip | undefined;
  try {
    skip = await whyNot(walk, step, address, place, before);
  } catch (thrown) {
    if (thrown === LET_GO) throw thrown;
    return failAtOnce(walk, step, address, toRuntimeError(thrown).toJSON(), place.cause);
  }
  if (place.branch.stopped !== undefined) return notBegun(place.branch);
  return begin(walk, step, address, place, skip);
}

function begin(
  walk: Walk,
  step: Step,
  address: string,
  place: Place,
  skip: Skip | undefined,
): Outcome | Promise<Outcome> {
  if (skip !== undefined) return skipStep(walk, address, place.cause, skip);
  if (walk.state.steps.size >= MAX_STEP_INSTANCES) {
    walk.fail(stepLimit().toJSON());
    return notBegun(place.branch);
  }
  return perform(walk, step, address, place);
}

function perform(walk: Walk, step: Step, address: string, place: Place): Promise<Outcome> {
  if (isComposite(step)) return runComposite(walk, step, address, place);
  const outcome = runLeaf(walk, step, address, place);
  if (step.type !== 'transition') return outcome;
  return outcome.then((ended) => {
    noteChoice(place.visit, step, address, ended);
    return ended;
  });
}

async function whyNot(
  walk: Walk,
  { condition, if: test }: Step,
  address: string,
  { locals }: Place,
  { unhandled, failed, reason }: Before,
): Promise<Skip | undefined> {
  if (condition === 'on_failure') {
    if (failed === undefined) return { reason: 'condition', because: 'no step before it failed' };
  } else if (condition !== 'always') {
    if (unhandled !== undefined) return { reason, because: unhandled };
    if (condition === 'previous_steps_success') {
      // Also one that the run went on after: who writes it down means every one.
      if (failed !== undefined) return { reason: 'condition', because: failed };
    } else if (condition !== undefined) {
      const at = `${address}:condition`;
      if (!(await takeTest(walk, at, condition, locals)))
        return { reason: 'condition', because: showTest(condition) };
    }
  }
  if (test !== undefined && !(await takeTest(walk, `${address}:if`, test, locals)))
    return { reason: 'if', because: showTest(test) };
  return undefined;
}
