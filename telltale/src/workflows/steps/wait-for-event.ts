import type { Condition } from '../../conditions/maps/conditions.ts';
import { matches } from '../../conditions/maps/matches.ts';
import { parseConditions } from '../../conditions/maps/parse-conditions.ts';
import type { RunState } from '../../events/run-state.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { LeafPlace, ReadyLeaf } from '../leaf.ts';
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
  const { event } = step;
  const match = step.match === undefined ? undefined : await resolveMap(step.match, 'match', place, context);
  const condition = match === undefined ? undefined : conditionOf(match, stepWhat(place));
  const names = new Set([...eventWaits(context.workflow).values()].map((wait) => wait.event));
  return {
    input: { event, ...(match === undefined ? {} : { match }) },
    repeatable: true, // what came is on the log
    async run(call) {
      const { journal, taken } = context;
      // Taken as soon as it is seen: several waits hear of the same signal at once.
      const look = () => {
        const found = journal.state.signals.find((signal) => !taken.has(signal.seq) && fits(signal));
        if (found === undefined) return undefined;
        taken.add(found.seq);
        // One that is stopped before its end is on the log has taken nothing.
        call.signal.addEventListener('abort', () => taken.delete(found.seq), { once: true });
        return found;
      };
      const fits = (signal: Signal) => {
        const seen = fieldsOf(signal, event, names);
        return seen !== undefined && (condition === undefined || matches(condition, { current: seen }));
      };
      const { event: came, data, seq } = await waitFor({ waitsFor: `event ${event}`, look }, call, context);
      return { event: came, data, seq };
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

function conditionOf(match: JsonObject, what: string): Condition {
  const parsed = parseConditions(match);
  if (parsed.ok) return parsed.value;
  const [issue] = parsed.error;
  throw new RuntimeError('bad_parameters', `"match" of ${what} cannot be read: ${issue?.message ?? ''}`, {
    hint: issue?.hint,
  });
}
