import type { Json, JsonObject } from '../../lib/json.ts';
import type { EventOf } from '../../log/event.ts';
import type { Instruments, Series } from './instruments.ts';

/** What is spent while a field has one value, in the series of all sessions of the agent. */
interface ValueSeries {
  readonly ms: Series;
  readonly entries: Series;
  readonly turns: Series;
  readonly input: Series;
  readonly output: Series;
  readonly cost: Series;
}

interface StateSpendField {
  readonly name: string;
  /** By value: looking six series up takes longer than all else that a change costs. */
  readonly series: Map<string, ValueSeries>;
  now: ValueSeries;
  /** That of the start of the turn in hand. */
  atTurn: ValueSeries;
  value: Json | undefined;
}

/** By the rules of `log/state-metrics.ts`, without keeping a session's state for it. */
export interface StateSpend {
  worked(ms: number): void;
  used(input: number, output: number, cost: number): void;
  turnBegan(): void;
  turnEnded(): void;
  changed(changes: EventOf<'metadata.changed'>['changes']): void;
}

/** How a field without a value is shown, and one whose value was set where nobody looked on. */
const UNSET = '(unset)';
const UNKNOWN = '(unknown)';

/** `initial`: the values at the start; undefined where the session is taken up in the middle of its life. */
export function createStateSpend(
  meters: Instruments,
  agent: string,
  states: readonly string[],
  initial: JsonObject | undefined,
): StateSpend {
  const seriesOf = (field: string, value: Json | undefined): ValueSeries => {
    const labels = [agent, field, labelOf(value)] as const;
    return {
      ms: meters.stateTime.of(...labels),
      entries: meters.stateEntries.of(...labels),
      turns: meters.stateTurns.of(...labels),
      input: meters.stateTokens.of(...labels, 'input'),
      output: meters.stateTokens.of(...labels, 'output'),
      cost: meters.stateCost.of(...labels),
    };
  };
  const fields = states.map((name): StateSpendField => {
    const value = initial === undefined ? undefined : (initial[name] ?? null);
    const now = seriesOf(name, value);
    if (value !== undefined && value !== null) now.entries.value++;
    return { name, now, atTurn: now, value, series: new Map([[labelOf(value), now]]) };
  });
  return {
    worked(ms) {
      for (const { now } of fields) now.ms.value += ms;
    },
    used(input, output, cost) {
      for (const { atTurn } of fields) {
        atTurn.input.value += input;
        atTurn.output.value += output;
        atTurn.cost.value += cost;
      }
    },
    turnBegan() {
      for (const field of fields) field.atTurn = field.now;
    },
    turnEnded() {
      for (const { atTurn } of fields) atTurn.turns.value++;
    },
    changed(changes) {
      for (const field of fields) {
        const change = Object.hasOwn(changes, field.name) ? changes[field.name] : undefined;
        if (change === undefined) continue;
        const label = labelOf(change.to);
        if (label === labelOf(field.value)) continue;
        const now = field.series.get(label) ?? seriesOf(field.name, change.to);
        field.series.set(label, now);
        field.value = change.to;
        field.now = now;
        field.now.entries.value++;
      }
    },
  };
}

function labelOf(value: Json | undefined): string {
  if (value === undefined) return UNKNOWN;
  if (value === null) return UNSET;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
