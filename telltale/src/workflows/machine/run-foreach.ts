import type { Json } from '../../kernel/json.ts';
import type { ForeachStep } from '../../manifest/schema/steps/step.ts';
import { FOREACH_PARALLEL } from './limits.ts';
import type { ListOutcome } from './outcome.ts';
import { allOf } from './run-branches.ts';
import { firstOnLog, runPool } from './run-pool.ts';
import type { Place, Walk } from './walk.ts';

/** The body once for each item; the first failure cancels the rest. */
export async function runForeach(
  walk: Walk,
  { as, body, max_parallel }: ForeachStep,
  items: readonly Json[],
  inside: string,
  place: Place,
): Promise<ListOutcome> {
  const outcomes = await runPool(walk, {
    count: items.length,
    atOnce: max_parallel ?? FOREACH_PARALLEL,
    branch: place.branch,
    run: (index) =>
      walk.list(body, {
        ...place,
        prefix: `${inside}[${index}]/`,
        locals: { ...place.locals, [as]: items[index] ?? null },
      }),
    ends: (outcome) => (outcome.kind === 'failed' ? 'another item failed' : undefined),
  });
  return firstOnLog(outcomes, 'failed') ?? allOf(outcomes, place);
}
