import type { ParallelStep, RaceStep, Step } from '../../manifest/schema/steps/step.ts';
import { skipStep } from './settle-step.ts';
import type { Branch, ListOutcome } from './walk.ts';
import { LET_GO, notBegun, type Walk, type WalkPlace } from './walk.ts';

export async function runParallel(
  walk: Walk,
  { branches, max_parallel, fail_fast }: ParallelStep,
  inside: string,
  place: WalkPlace,
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
  place: WalkPlace,
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
export function allOf(outcomes: readonly (ListOutcome | undefined)[], place: WalkPlace): ListOutcome {
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
  place: WalkPlace,
  ends: (outcome: ListOutcome) => string | undefined,
) =>
  runPool(walk, {
    count: branches.length,
    atOnce: atOnce ?? branches.length,
    branch: place.branch,
    run: (index) => walk.list(branches[index] ?? [], { ...place, prefix: `${inside}/` }),
    ends,
  });

export interface Pool {
  readonly count: number;
  /** How many at a time. */
  readonly atOnce: number;
  readonly branch: Branch;
  run(index: number): Promise<ListOutcome>;
  /** Why the rest is cancelled after this outcome; undefined to go on. */
  ends(outcome: ListOutcome): string | undefined;
}

/** Runs them side by side and waits for every one that was begun; undefined stands for those that were not. */
export async function runPool(walk: Walk, pool: Pool): Promise<readonly (ListOutcome | undefined)[]> {
  const { count, branch } = pool;
  const outcomes = new Array<ListOutcome | undefined>(count).fill(undefined);
  const workers = Math.min(count, pool.atOnce);
  let next = 0;
  let running = workers;
  const work = async () => {
    try {
      while (next < count && branch.stopped === undefined) {
        const index = next++;
        const outcome = await pool.run(index);
        outcomes[index] = outcome;
        const reason = pool.ends(outcome);
        if (reason !== undefined) branch.stop(reason);
      }
    } catch (thrown) {
      walk.crash(thrown);
    }
    // The place of whoever ends last goes to the step around.
    running--;
    if (running > 0) walk.occupancy.add(-1);
  };
  if (workers === 0) return outcomes;
  walk.occupancy.add(workers - 1);
  await Promise.all(Array.from({ length: workers }, work));
  if (walk.letGo) throw LET_GO;
  return outcomes;
}

/** Of those that ended so, the one that came first on the log: the same after a restart. */
export function firstOnLog<Kind extends ListOutcome['kind']>(
  outcomes: readonly (ListOutcome | undefined)[],
  kind: Kind,
): Extract<ListOutcome, { readonly kind: Kind }> | undefined {
  let first: Extract<ListOutcome, { readonly kind: Kind }> | undefined;
  for (const outcome of outcomes)
    if (outcome?.kind === kind && (first === undefined || outcome.seq < first.seq))
      first = outcome as Extract<ListOutcome, { readonly kind: Kind }>;
  return first;
}
