import type { Branch } from './branch.ts';
import type { ListOutcome } from './outcome.ts';
import { LET_GO, type Walk } from './walk.ts';

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
