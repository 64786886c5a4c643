import type { ParallelStep, RaceStep, Step } from '../../manifest/schema/steps/step.ts';
import type { ListOutcome } from './outcome.ts';
import { firstOnLog, runPool } from './run-pool.ts';
import { skipStep } from './skip-step.ts';
import { notBegun, type Place, type Walk } from './walk.ts';

export async function runParallel(
  walk: Walk,
  { branches, max_parallel, fail_fast }: ParallelStep,
  inside: string,
  place: Place,
): Promise<ListOutcome> {
  const outcomes = await side(walk, branches, max_parallel, inside, place, (outcome) =>
    outcome.kind === 'failed' && fail_fast ? 'another branch failed' : undefined,
  );
  const failed = fail_fast
    ? firstOnLog(outcomes, 'failed')
    : outcomes.find((outcome) => outcome?.kind === 'failed');
  return failed ?? allOf(outcomes, place);
}

export async function runRace(
  walk: Walk,
  { branches, max_parallel }: RaceStep,
  inside: string,
  place: Place,
): Promise<ListOutcome> {
  const outcomes = await side(walk, branches, max_parallel, inside, place, (outcome) =>
    outcome.kind === 'completed' ? 'another branch was first' : undefined,
  );
  const winner = firstOnLog(outcomes, 'completed');
  if (winner !== undefined) {
    for (const [index, outcome] of outcomes.entries())
      if (outcome === undefined)
        for (const { name } of branches[index] ?? [])
          skipStep(walk, `${inside}/${name}`, place.cause, { reason: 'race' });
    return winner;
  }
  const cancelled = outcomes.find((outcome) => outcome?.kind !== 'failed');
  if (cancelled !== undefined || outcomes.includes(undefined)) return cancelled ?? notBegun(place.branch);
  let last: ListOutcome | undefined;
  for (const outcome of outcomes)
    if (outcome !== undefined && outcome.seq >= (last?.seq ?? 0)) last = outcome;
  return last ?? notBegun(place.branch);
}

/** The outputs in order, where all have completed; else cancelled. */
export function allOf(outcomes: readonly (ListOutcome | undefined)[], place: Place): ListOutcome {
  let seq = 0;
  const output = [];
  for (const outcome of outcomes) {
    if (outcome === undefined) return notBegun(place.branch);
    if (outcome.kind !== 'completed') return outcome;
    seq = Math.max(seq, outcome.seq);
    output.push(outcome.output);
  }
  return { kind: 'completed', output, seq };
}

const side = (
  walk: Walk,
  branches: readonly (readonly Step[])[],
  atOnce: number | undefined,
  inside: string,
  place: Place,
  ends: (outcome: ListOutcome) => string | undefined,
) =>
  runPool(walk, {
    count: branches.length,
    atOnce: atOnce ?? branches.length,
    branch: place.branch,
    run: (index) => walk.list(branches[index] ?? [], { ...place, prefix: `${inside}/` }),
    ends,
  });
