import type { JsonObject } from '../../kernel/json.ts';
import { withTimeout } from '../../targets/access/with-timeout.ts';
import type { LeafCall, LeafPlace, ReadyLeaf } from '../leaf.ts';
import { type Callable, callTarget } from './call-target.ts';
import type { LeafContext } from './leaf-edges.ts';
import { stepWhat } from './resolve-in-step.ts';

/**
 * A step that calls a target. Where a person has to approve the call, the step can be left and taken up again until
 * then, whatever the target is, and its time counts from then on.
 */
export async function targetLeaf(
  target: Callable,
  input: JsonObject,
  repeatable: boolean,
  place: LeafPlace,
  context: LeafContext,
): Promise<ReadyLeaf> {
  const { timeoutMs, slots } = target;
  const need = await target.needs?.(input, { agent: await viewFor(target, context) });
  if (need === undefined)
    return {
      input,
      repeatable,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(slots === undefined
        ? { run: (call) => callTarget(target, call, context) }
        : {
            enter: (signal) => context.takeSlot(slots.key, slots.max, signal),
            run: (call) => callTarget({ ...target, slots: undefined }, call, context),
          }),
    };
  const ms = place.step.timeout?.ms ?? timeoutMs;
  const timed: Callable = {
    ...target,
    run: (call) =>
      withTimeout(call.signal, ms && ms / 1000, stepWhat(place), context.clock, (signal) =>
        target.run({ ...call, signal }),
      ),
  };
  return {
    input,
    repeatable: true,
    timesItself: true,
    run: (call: LeafCall) =>
      callTarget(timed, call, context, repeatable ? {} : { onApproved: () => inDoubt(call, context) }),
  };
}

const viewFor = async ({ kind }: Callable, { scope }: LeafContext): Promise<() => JsonObject> => {
  const view = kind === 'tool' ? await scope.agent() : {};
  return () => view;
};

/** From here on a crash leaves it in doubt: that is on the log before the call is made. */
async function inDoubt(
  { address: step, attempt, input, cause }: LeafCall,
  { journal }: LeafContext,
): Promise<void> {
  if (!journal.state.steps.has(step)) return; // what undoes a step is none of its own
  journal.append({ type: 'step.started', step, attempt, input, repeatable: false }, cause);
  await journal.flushed();
}
