import type { FreeSlot } from '../../../engine/slots.ts';
import { enterOrWait } from '../../../engine/under-way.ts';
import type { PlannedAction, RunEventBody } from '../../../events/run-event.ts';
import type { PlanState } from '../../../events/run-state.ts';
import type { Json, JsonObject } from '../../../kernel/json.ts';
import { type RuntimeError, toRuntimeError } from '../../../kernel/runtime-error.ts';
import type { LeafCall } from '../../leaf.ts';
import { doneIn } from './done-action.ts';
import { unmet } from './expectation.ts';
import { type Acting, mustTake, performAction } from './perform-action.ts';
import { actionAddress, type PlanCase, plansOf } from './plan-case.ts';
import { actionGone, actionInterrupted, notExpected, resultsTooLarge } from './plan-errors.ts';
import { MAX_RESULTS_CHARS } from './plan-limits.ts';
import { filledParameters } from './result-references.ts';
import type { Trouble } from './trouble.ts';

type Acted = Extract<RunEventBody, { readonly type: 'plan.acted' }>;

/**
 * Does the actions of a plan, one after the other, from where the log left it: what has an end there is not done again.
 * Ends at the first that fails or gives something else than was expected. Rejects only where the step is stopped.
 */
export async function executePlan(current: PlanState, the: PlanCase): Promise<Trouble | undefined> {
  const results = doneIn(plansOf(the)).map(({ output }) => output);
  let chars = JSON.stringify(results).length;
  for (const [index, planned] of current.plan.entries()) {
    const known = current.acts.get(index);
    if (known?.end?.held === true) continue;
    const room = MAX_RESULTS_CHARS - chars;
    const end = known?.end ?? (await endOf(current, index, { planned, results: [...results], room }, the));
    if (end.output !== undefined && known?.end === undefined) {
      results.push(end.output);
      chars += JSON.stringify(end.output).length;
    }
    if (!end.held) {
      const { error = { code: 'internal', message: 'It failed.', retryable: false } } = end;
      return { kind: 'failed', planned, index, error };
    }
  }
  return undefined;
}

interface Turn {
  readonly planned: PlannedAction;
  /** What those before it gave. */
  readonly results: readonly Json[];
  /** Characters of JSON that its own may have. */
  readonly room: number;
}

async function endOf(
  current: PlanState,
  index: number,
  turn: Turn,
  the: PlanCase,
): Promise<Pick<Acted, 'held' | 'error' | 'output'>> {
  const known = current.acts.get(index);
  const { planned, results } = turn;
  const { journal, clock } = the.context;
  const { address: step, attempt, cause, signal } = the.call;
  const place = { step, attempt, nth: current.nth, index };
  const began = clock.now();
  const ended = (end: Pick<Acted, 'output' | 'error' | 'held'>) => {
    journal.append({ type: 'plan.acted', ...place, ...end, ms: Math.max(0, clock.now() - began) }, cause);
    return end;
  };
  if (known !== undefined && !known.repeatable)
    return ended({ error: actionInterrupted(planned.action).toJSON(), held: false });
  let lost: unknown;
  let leave: FreeSlot | undefined;
  const acting: Acting = async (repeatable) => {
    const { enterOnce } = the.context;
    if (!repeatable && enterOnce !== undefined) leave = await enterOrWait(enterOnce, signal);
    if (known === undefined) journal.append({ type: 'plan.acting', ...place, repeatable }, cause);
    if (repeatable) return;
    await journal.flushed().catch((thrown: unknown) => {
      lost = thrown;
      throw thrown;
    });
  };
  let output: Json;
  try {
    output = await act(turn, actionAddress(step, attempt, current.nth, index), acting, the);
  } catch (thrown) {
    signal.throwIfAborted();
    if (lost !== undefined) throw lost; // a log that cannot be written is no failure of the action
    return ended({ error: toRuntimeError(thrown).toJSON(), held: false });
  } finally {
    leave?.();
  }
  signal.throwIfAborted();
  const wrong = judged(planned, output, results);
  return ended({
    output,
    held: wrong === undefined,
    ...(wrong === undefined ? {} : { error: wrong.toJSON() }),
  });
}

async function act(
  { planned: { action, parameters }, results, room }: Turn,
  address: string,
  acting: Acting,
  { step, callables, call, context }: PlanCase,
): Promise<Json> {
  const called = callables.get(action);
  if (called === undefined) throw actionGone(action);
  const given = await filledParameters(parameters, results, `the action "${action}"`);
  mustTake(called, given);
  const filled = called.target.inFull?.(given) ?? given;
  const named = { id: address, kind: called.kind, name: called.target.name };
  const hooks = context.hooksOf?.(step);
  const { cause, signal } = call;
  const input: JsonObject =
    hooks === undefined
      ? filled
      : await hooks.before({ ...named, parameters: filled, cause, signal }, (changed) =>
          called.target.check(changed),
        );
  const actionCall: LeafCall = {
    ...call,
    address,
    input,
    attempt: 1,
    idempotencyKey: `${context.journal.state.id}:${address}`,
  };
  const asked = { ...named, parameters: input, cause, signal };
  try {
    const given = (await performAction(called, actionCall, context, acting)) ?? null;
    const output = hooks === undefined ? given : await hooks.after(asked, given);
    const chars = JSON.stringify(output).length;
    if (chars > room) throw resultsTooLarge(action, chars);
    return output;
  } catch (thrown) {
    if (!signal.aborted) await hooks?.failed(asked, toRuntimeError(thrown).toJSON());
    throw thrown;
  }
}

function judged({ expect }: PlannedAction, output: Json, results: readonly Json[]): RuntimeError | undefined {
  if (expect === undefined) return undefined;
  const why = unmet(expect, output, results);
  return why === undefined ? undefined : notExpected(expect, output, why);
}
