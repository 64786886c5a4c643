import type { Json } from '../../../../../telltale/src/lib/json.ts';
import type { SessionEvent } from '../../../../../telltale/src/log/event.ts';
import type { VariableClass } from '../../../../../telltale/src/log/session-events.ts';
import type { Mark } from './waterfall-rows.ts';

export interface Change extends Mark {
  readonly from: Json;
  readonly to: Json;
  readonly by: string;
  /** For a variable. */
  readonly class?: VariableClass;
}

/** Every value that the session's metadata fields and variables have had. */
export interface FieldHistory {
  add(event: SessionEvent): void;
  /** Names in the order in which they first had a value. */
  readonly fields: ReadonlyMap<string, readonly Change[]>;
  readonly variables: ReadonlyMap<string, readonly Change[]>;
  /** The metadata fields that are enums according to the manifest. */
  readonly states: readonly string[];
}

export function createFieldHistory(): FieldHistory {
  const fields = new Map<string, Change[]>();
  const variables = new Map<string, Change[]>();
  let states: readonly string[] = [];

  const note = (map: Map<string, Change[]>, name: string, change: Change): void => {
    const known = map.get(name);
    if (known === undefined) map.set(name, [change]);
    else known.push(change);
  };

  return {
    add(event) {
      const { seq, at } = event;
      if (event.type === 'session.started') {
        states = event.states ?? [];
        for (const [name, to] of Object.entries(event.metadata ?? {}))
          note(fields, name, { seq, at, from: null, to, by: 'start' });
        for (const [name, to] of Object.entries(event.vars ?? {})) {
          const kind = event.classes?.[name] ?? 'runtime';
          note(variables, name, { seq, at, from: null, to, by: 'start', class: kind });
        }
      } else if (event.type === 'metadata.changed')
        for (const [name, { from, to }] of Object.entries(event.changes))
          note(fields, name, { seq, at, from, to, by: event.by });
      else if (event.type === 'variable.changed') {
        const { name, from, to, by } = event;
        note(variables, name, { seq, at, from, to, by, class: event.class });
      }
    },
    fields,
    variables,
    get states() {
      return states;
    },
  };
}

/** The changes up to an event. */
export function changesUntil(changes: readonly Change[], seq: number): readonly Change[] {
  let end = changes.length;
  while (end > 0 && (changes[end - 1]?.seq ?? 0) > seq) end--;
  return end === changes.length ? changes : changes.slice(0, end);
}

/** Fields with only numeric values. They are drawn as charts. */
export const numericFields = (history: FieldHistory, seq: number): readonly string[] =>
  [...history.fields].flatMap(([name, changes]) => {
    const known = changesUntil(changes, seq).filter(({ to }) => to !== null);
    return known.length > 0 && known.every(({ to }) => typeof to === 'number') ? [name] : [];
  });
