import type { Condition } from '../../conditions/maps/conditions.ts';
import { matches } from '../../conditions/maps/matches.ts';
import { parseConditions } from '../../conditions/maps/parse-conditions.ts';
import type { RunState } from '../../events/run-state.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { LeafCall, LeafPlace, ReadyLeaf } from '../leaf.ts';
import type { LeafContext } from './leaf-edges.ts';
import { resolveMap, stepWhat } from './resolve-in-step.ts';
import { type EventWait, eventWaits } from './signals-taken.ts';
import { waitFor } from './wait-for.ts';

type Signal = RunState['signals'][number];

/**
 * Waits for an event, also one that came before and that no other wait has taken. Results in `{event, data, seq}`: what
 * came, and its place on the run's log.
 */
export async function prepareEventWait(
  step: EventWait,
  place: LeafPlace,
  context: LeafContext,
): Promise<ReadyLeaf> {
  const { event, timeout } = step;
  const match = step.match === undefined ? undefined : await resolveMap(step.match, 'match', place, context);
  const condition = match === undefined ? undefined : conditionOf(match, stepWhat(place));
  const names = new Set([...eventWaits(context.workflow).values()].map((wait) => wait.event));
  return {
    input: { event, ...(match === undefined ? {} : { match }) },
    repeatable: true, // what came is on the log
    timesItself: true,
    async run(call) {
      const { journal, taken } = context;
      // Taken as soon as it is seen: several waits hear of the same signal at once.
      const look = () => {
        const found = journal.state.signals.find((signal) => !taken.has(signal.seq) && fits(signal));
        if (found !== undefined) taken.add(found.seq);
        return found;
      };
      const fits = (signal: Signal) => {
        const seen = fieldsOf(signal, event, names);
        return seen !== undefined && (condition === undefined || matches(condition, { current: seen }));
      };
      const due = timeout === undefined ? undefined : timeoutDue(timeout.ms, call, context);
      const waited = await waitFor({ waitsFor: `event ${event}`, due, look }, call, context);
      if (waited.kind === 'due') {
        journal.append({ type: 'timer.fired', id: timerOf(call) }, call.cause);
        throw tookTooLong(stepWhat(place), timeout?.ms ?? 0);
      }
      const { value: signal } = waited;
      return { event: signal.event, data: signal.data, seq: signal.seq } satisfies Json;
    },
  };
}

/** A signal of a name of its own is to a wait for `custom` what an `emit` of that name is. */
function fieldsOf(
  { event, data }: Signal,
  wanted: string,
  names: ReadonlySet<string>,
): JsonObject | undefined {
  if (event === wanted) return data;
  return wanted === 'custom' && !names.has(event) ? { name: event, data } : undefined;
}

const timerOf = ({ address }: LeafCall): string => `${address}:timeout`;

/** When it is too late: the same after a restart, another one where it is tried again. */
function timeoutDue(ms: number, call: LeafCall, { journal, clock }: LeafContext): number {
  const id = timerOf(call);
  const timer = journal.state.timers.get(id);
  if (timer !== undefined && !timer.fired) return timer.due;
  const due = clock.now() + ms;
  journal.append({ type: 'timer.set', id, due }, call.cause);
  return due;
}

function conditionOf(match: JsonObject, what: string): Condition {
  const parsed = parseConditions(match);
  if (parsed.ok) return parsed.value;
  const [issue] = parsed.error;
  throw new RuntimeError('bad_parameters', `"match" of ${what} cannot be read: ${issue?.message ?? ''}`, {
    hint: issue?.hint,
  });
}

export const tookTooLong = (what: string, ms: number) =>
  new RuntimeError('timeout', `What ${what} waits for did not come within ${ms / 1000} s.`, {
    hint: 'Give it a longer "timeout", or say by "on_error" how the run goes on without it.',
    retryable: true,
  });
