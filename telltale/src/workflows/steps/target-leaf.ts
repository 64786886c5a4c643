import type { FreeSlot } from '../../engine/slots.ts';
import { enterOrWait } from '../../engine/under-way.ts';
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
export function targetLeaf(
  target: Callable,
  input: JsonObject,
  repeatable: boolean,
  place: LeafPlace,
  context: LeafContext,
): ReadyLeaf | Promise<ReadyLeaf> {
  return target.needs === undefined
    ? freeLeaf(target, input, repeatable, context)
    : askedLeaf(target, input, repeatable, place, context);
}

const freeLeaf = (
  target: Callable,
  input: JsonObject,
  repeatable: boolean,
  context: LeafContext,
): ReadyLeaf => ({
  input,
  repeatable,
  ...(target.timeoutMs === undefined ? {} : { timeoutMs: target.timeoutMs }),
  ...entered(target, repeatable, context),
});

/** What a call needs is waited for before anything of the step is on the log. */
function entered(
  target: Callable,
  repeatable: boolean,
  context: LeafContext,
): Pick<ReadyLeaf, 'enter' | 'enterNow' | 'run'> {
  const { slots } = target;
  const once = repeatable ? undefined : context.enterOnce;
  if (slots === undefined)
    return {
      ...(once === undefined ? {} : { enterNow: once, enter: (signal) => enterOrWait(once, signal) }),
      run: (call) => callTarget(target, call, context),
    };
  return {
    async enter(signal) {
      const free = await context.takeSlot(slots.key, slots.max, signal);
      try {
        const leave = once && (await enterOrWait(once, signal));
        return () => {
          free();
          leave?.();
        };
      } catch (thrown) {
        free();
        throw thrown;
      }
    },
    run: (call) => callTarget({ ...target, slots: undefined }, call, context),
  };
}

async function askedLeaf(
  target: Callable,
  input: JsonObject,
  repeatable: boolean,
  place: LeafPlace,
  context: LeafContext,
): Promise<ReadyLeaf> {
  const { timeoutMs } = target;
  const need = await target.needs?.(input, { agent: await viewFor(target, context) });
  if (need === undefined) return freeLeaf(target, input, repeatable, context);
  const ms = place.step.timeout?.ms ?? timeoutMs;
  const timed: Callable = {
    ...target,
    run: (call) =>
      withTimeout(call.signal, ms && ms / 1000, stepWhat(place), context.clock, (signal) =>
        target.run({ ...call, signal }),
      ),
  };
  const runOnce = async (call: LeafCall) => {
    let leave: FreeSlot | undefined;
    const onApproved = async () => {
      leave = context.enterOnce && (await enterOrWait(context.enterOnce, call.signal));
      await inDoubt(call, context);
    };
    try {
      return await callTarget(timed, call, context, { onApproved });
    } finally {
      leave?.();
    }
  };
  return {
    input,
    repeatable: true,
    timesItself: true,
    run: repeatable ? (call) => callTarget(timed, call, context) : runOnce,
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
