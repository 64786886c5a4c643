import type { LoopStep } from '../../manifest/schema/steps/step.ts';
import { loopLimit } from './failures.ts';
import type { ListOutcome } from './outcome.ts';
import { takeTest } from './take-test.ts';
import { hasBegun, notBegun, type Place, type Walk } from './walk.ts';

/** Rounds until the test ends it: `while` is asked before each, `until` after each. The output is the last round's. */
export async function runLoop(
  walk: Walk,
  { while: goesOn, until, max, body }: LoopStep,
  inside: string,
  place: Place,
): Promise<ListOutcome> {
  const { branch, locals } = place;
  let last: ListOutcome = { kind: 'completed', output: null, seq: 0 };
  for (let round = 1; ; round++) {
    if (goesOn !== undefined && !(await takeTest(walk, `${inside}:while#${round}`, goesOn, locals)))
      return last;
    if (branch.stopped !== undefined) return notBegun(branch);
    if (round > max) return limit(inside, max, last.seq);
    const isOver = hasBegun(walk, body, `${inside}#${round + 1}/`);
    last = await walk.list(body, { ...place, prefix: `${inside}#${round}/`, ...(isOver && { isOver }) });
    if (last.kind !== 'completed') return last;
    if (until !== undefined && (await takeTest(walk, `${inside}:until#${round}`, until, locals))) return last;
    if (branch.stopped !== undefined) return notBegun(branch);
    if (until !== undefined && round === max) return limit(inside, max, last.seq);
  }
}

const limit = (inside: string, max: number, seq: number): ListOutcome => ({
  kind: 'failed',
  error: loopLimit(inside, max).toJSON(),
  step: inside,
  seq,
});
