import type { Json } from '../../kernel/json.ts';
import type { ErrorJson } from '../../kernel/runtime-error.ts';
import type { Step } from '../../manifest/schema/steps/step.ts';
import { gotoLimit } from './failures.ts';
import { MAX_GOTO_VISITS } from './limits.ts';
import type { ListOutcome } from './outcome.ts';
import { runGraph } from './run-graph.ts';
import { runStep } from './run-step.ts';
import { skipStep } from './skip-step.ts';
import type { Place, Walk } from './walk.ts';

/** A list of steps: one after the other, or as a graph where one of them has `needs`. Its output is its last step's. */
export const runList = (walk: Walk, steps: readonly Step[], place: Place): Promise<ListOutcome> =>
  steps.some(({ needs }) => needs !== undefined) ? runGraph(walk, steps, place) : inOrder(walk, steps, place);

async function inOrder(walk: Walk, steps: readonly Step[], place: Place): Promise<ListOutcome> {
  let output: Json = null;
  let seq = 0;
  let failed: string | undefined;
  let unhandled: { readonly name: string; readonly step: string; readonly error: ErrorJson } | undefined;
  let visits: number[] | undefined; // how often each step was passed before; only a jump back needs it
  const addressOf = (at: number, name: string) => {
    const before = visits?.[at] ?? 0;
    return before === 0 ? place.prefix + name : `${place.prefix}${name}~${before + 1}`;
  };

  for (let at = 0; at < steps.length; at++) {
    const step = steps[at] as Step;
    const address = addressOf(at, step.name);
    const isPast = () =>
      steps.some((other, index) => index > at && walk.state.steps.has(addressOf(index, other.name)));
    const before = { unhandled: unhandled?.name, failed, reason: 'condition', isPast } as const;
    const ending = runStep(walk, step, address, place, before);
    const outcome = ending instanceof Promise ? await ending : ending;
    seq = Math.max(seq, outcome.seq);
    if (outcome.kind === 'cancelled') return outcome;
    if (outcome.kind === 'completed') output = outcome.output;
    if (outcome.kind !== 'failed') continue;
    failed ??= step.name;
    const policy = step.on_error ?? 'fail';
    if (policy === 'continue') continue;
    if (policy === 'fail') {
      unhandled ??= { name: step.name, step: address, error: outcome.error };
      continue;
    }
    const target = steps.findIndex(({ name }) => name === policy.goto);
    if (target > at) {
      for (let between = at + 1; between < target; between++) {
        const { name } = steps[between] as Step;
        const skip = { reason: 'goto', because: step.name } as const;
        seq = Math.max(seq, skipStep(walk, addressOf(between, name), place.cause, skip).seq);
      }
    } else {
      visits ??= steps.map(() => 0);
      for (let passed = target; passed <= at; passed++) visits[passed] = (visits[passed] ?? 0) + 1;
      if ((visits[target] ?? 0) >= MAX_GOTO_VISITS) {
        const error = gotoLimit(place.prefix + policy.goto).toJSON();
        return { kind: 'failed', error, step: address, seq };
      }
    }
    at = target - 1;
  }
  if (unhandled === undefined) return { kind: 'completed', output, seq };
  const { step, error } = unhandled;
  return { kind: 'failed', error, step, seq };
}
