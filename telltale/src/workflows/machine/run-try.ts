import type { Json } from '../../kernel/json.ts';
import type { TryStep } from '../../manifest/schema/steps/step.ts';
import type { ListOutcome } from './outcome.ts';
import { hasBegun, type Place, type Walk } from './walk.ts';

/**
 * The body; where it fails, `catch`, which sees the error under the name `error`; `finally` after either. What was
 * cancelled runs nothing more. A failure of `finally` counts where nothing failed before.
 */
export async function runTry(walk: Walk, step: TryStep, inside: string, place: Place): Promise<ListOutcome> {
  const inner = { ...place, prefix: `${inside}/` };
  const isFinal = hasBegun(walk, step.finally, inner.prefix);
  const isOver = isFinal || hasBegun(walk, step.catch, inner.prefix);
  let outcome = await walk.list(step.body, isOver ? { ...inner, isOver } : inner);
  if (outcome.kind === 'failed' && step.catch !== undefined) {
    const locals = { ...place.locals, error: outcome.error as unknown as Json };
    outcome = await walk.list(step.catch, { ...inner, locals, ...(isFinal && { isOver: true }) });
  }
  if (outcome.kind === 'cancelled' || step.finally === undefined) return outcome;
  const last = await walk.list(step.finally, inner);
  return last.kind === 'cancelled' || (outcome.kind === 'completed' && last.kind === 'failed')
    ? last
    : outcome;
}
