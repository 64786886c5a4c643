import type { Json } from '../lib/json.ts';
import type { EventOf, SessionEvent } from './event.ts';
import { reduce } from './reduce.ts';
import { emptyState, type SessionState } from './state.ts';

/** What a session spent while a field of its metadata had one value. `value` is null while it had none. */
export interface ValueMetrics {
  readonly value: Json;
  /** How often the field came to have it. */
  readonly entries: number;
  /** Time in which the session was worked on: not while no process ran, nor while it waited for a person. */
  readonly ms: number;
  /** Turns that began with it and ended well. */
  readonly turns: number;
  readonly input: number;
  readonly output: number;
  readonly cost_usd: number;
}

export interface ValueChange {
  readonly seq: number;
  readonly at: number;
  readonly turn: number;
  readonly from: Json;
  readonly to: Json;
  readonly by: string;
}

export interface FieldMetrics {
  readonly field: string;
  readonly value: Json;
  /** In the order in which the field first had them. */
  readonly values: readonly ValueMetrics[];
  /** The newest changes, oldest first; the value at the start is the first of them. */
  readonly history: readonly ValueChange[];
  /** Changes that are too old to be kept. */
  readonly older: number;
}

/**
 * Folds a session's log into what it spent in each value of its metadata's enum fields. A change in the middle of a turn
 * splits the turn's time, not its tokens: a turn, and all that models used while it was in hand, counts for the value
 * that the field had when the turn began. So the values of each field add up to the session's totals.
 */
export interface StateMetrics {
  add(event: SessionEvent): void;
  /** By name. */
  fields(): readonly FieldMetrics[];
}

/** Changes of a field that are kept. */
const MAX_HISTORY = 1_000;
/** Where a log does not say which fields are enums: one that held a longer text is none. */
const MAX_TEXT = 64;

type Spent = { -readonly [Key in keyof ValueMetrics]: ValueMetrics[Key] };

interface Field {
  value: Json;
  /** The value at the start of the turn in hand. */
  atTurn: Spent;
  now: Spent;
  readonly values: Map<string, Spent>;
  readonly history: ValueChange[];
  older: number;
  /** Whether it only ever held what an enum can hold. */
  isEnum: boolean;
}

export function createStateMetrics(): StateMetrics {
  const state = emptyState();
  const fields = new Map<string, Field>();
  /** What fields that have never been set would have spent so far. */
  const unset = spentIn(null);
  let declared: readonly string[] | undefined;

  const fieldOf = (name: string): Field => {
    const known = fields.get(name);
    if (known !== undefined) return known;
    const now = { ...unset };
    const field: Field = {
      value: null,
      now,
      atTurn: now,
      values: new Map([[keyOf(null), now]]),
      history: [],
      older: 0,
      isEnum: declared?.includes(name) ?? true,
    };
    fields.set(name, field);
    return field;
  };
  const change = (name: string, to: Json, event: SessionEvent, by: string) => {
    const field = fieldOf(name);
    const from = field.value;
    if (declared === undefined && !isState(to)) field.isEnum = false;
    if (keyOf(from) === keyOf(to)) return;
    field.value = to;
    field.now = field.values.get(keyOf(to)) ?? spentIn(to);
    field.values.set(keyOf(to), field.now);
    field.now.entries++;
    const { seq, at, turn } = event;
    if (field.history.push({ seq, at, turn, from, to, by }) > MAX_HISTORY) {
      field.history.shift();
      field.older++;
    }
  };
  const begin = (event: EventOf<'session.started'>) => {
    declared = event.states;
    for (const name of declared ?? []) fieldOf(name);
    for (const [name, value] of Object.entries(event.metadata ?? {})) change(name, value, event, 'start');
    for (const field of fields.values()) field.atTurn = field.now;
  };

  return {
    add(event) {
      const before = { ...state.totals, at: state.at, downMs: state.downMs };
      reduce(state, event);
      const ms = event.type === 'session.started' ? 0 : Math.max(0, worked(state) - worked(before));
      const { totals } = state;
      const used = {
        turns: totals.turns - before.turns,
        input: totals.input - before.input,
        output: totals.output - before.output,
        cost_usd: totals.cost_usd - before.cost_usd,
      };
      unset.ms += ms;
      spend(unset, used);
      for (const field of fields.values()) {
        field.now.ms += ms;
        spend(field.atTurn, used);
      }
      if (event.type === 'session.started') begin(event);
      else if (event.type === 'metadata.changed')
        for (const [name, { to }] of Object.entries(event.changes)) change(name, to, event, event.by);
      else if (event.type === 'turn.started') for (const field of fields.values()) field.atTurn = field.now;
    },
    fields: () =>
      [...fields]
        .filter(([, { isEnum }]) => isEnum)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([field, { value, values, history, older }]) => ({
          field,
          value,
          older,
          values: [...values.values()].filter(isSpent).map((spent) => ({ ...spent })),
          history: [...history],
        })),
  };
}

export function stateMetrics(events: Iterable<SessionEvent>): readonly FieldMetrics[] {
  const metrics = createStateMetrics();
  for (const event of events) metrics.add(event);
  return metrics.fields();
}

const spentIn = (value: Json): Spent => ({
  value,
  entries: 0,
  ms: 0,
  turns: 0,
  input: 0,
  output: 0,
  cost_usd: 0,
});

function spend(spent: Spent, used: Pick<Spent, 'turns' | 'input' | 'output' | 'cost_usd'>): void {
  spent.turns += used.turns;
  spent.input += used.input;
  spent.output += used.output;
  spent.cost_usd += used.cost_usd;
}

const worked = ({ at, downMs }: Pick<SessionState, 'at' | 'downMs'>): number => at - downMs;

/** That a field had no value for no time at all is nothing to tell. */
const isSpent = ({ value, entries, ms, turns, input, output }: Spent): boolean =>
  value !== null || entries > 0 || ms + turns + input + output > 0;

const keyOf = (value: Json): string => JSON.stringify(value);

const isState = (value: Json): boolean =>
  value === null || typeof value === 'boolean' || (typeof value === 'string' && value.length <= MAX_TEXT);
