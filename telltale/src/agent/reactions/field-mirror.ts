import { matches } from '../../expressions/maps/conditions.ts';
import { deepEqual } from '../../expressions/values.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import type { SessionTrigger, TriggerSide } from '../../triggers/compile-triggers.ts';
import { holdsNow, lookAgain, matchTriggers, restoreTriggerStand } from '../../triggers/match-triggers.ts';
import type { FieldUpdate, Firing } from '../../triggers/state-trigger.ts';

/** What an event means to a trigger. */
export interface FieldMirrorFound {
  readonly trigger: SessionTrigger;
  /** null: it is set off by an event. */
  readonly as: Firing['as'] | null;
  readonly seen: JsonObject;
}

/** Values by name; undefined: gone. */
export type NewValues = readonly (readonly [name: string, value: Json | undefined])[];

/**
 * The metadata, or the variables, as of the event in hand, and how the triggers on them stand: the session's state may
 * be further on already.
 */
export interface FieldMirror {
  /** Takes an update. One that is `taken over` from others fires nothing, but ends what holds no longer. */
  update(
    values: NewValues,
    options: { readonly at: number; readonly isTakenOver: boolean },
  ): readonly FieldMirrorFound[];
  /** Something changed that tests may read beside. */
  lookAgain(at: number): readonly FieldMirrorFound[];
  /** Whether the condition of a trigger is so now. */
  holds(trigger: SessionTrigger): boolean;
  /** What `${trigger.*}` shows of a trigger while nothing changes. */
  seen(trigger: SessionTrigger, at: number): JsonObject;
}

export interface FieldMirrorDeps {
  readonly side: TriggerSide;
  /** The values: the mirror's own to change. */
  readonly now: Record<string, Json>;
  /** Whether there was an update. */
  readonly begun: boolean;
  /** The values of the other side. */
  readonly beyond: Readonly<Record<string, Json>>;
  readonly onProblem: NonNullable<FieldUpdate['onProblem']>;
}

export function createFieldMirror({ side, now, begun, beyond, onProblem }: FieldMirrorDeps): FieldMirror {
  /** Follows `now` behind each update, so that one costs what it changes. */
  const before: Record<string, Json> = { ...now };
  const stand = restoreTriggerStand(side.index, { current: now, begun, beyond, onProblem });
  const put = (into: Record<string, Json>, values: NewValues) => {
    for (const [name, value] of values)
      if (value === undefined) delete into[name];
      else into[name] = value;
  };
  const found = (
    firings: readonly Firing[],
    changed: readonly string[],
    at: number,
  ): readonly FieldMirrorFound[] =>
    firings.map(({ trigger: place, as }) => {
      const trigger = side.indexed[place] as SessionTrigger;
      return { trigger, as, seen: seenOf(trigger, as, changed, at) };
    });
  const seenOf = (
    { id, type, workflow, names }: SessionTrigger,
    as: Firing['as'],
    changed: readonly string[],
    at: number,
  ): JsonObject => ({
    type,
    trigger: id,
    workflow,
    as,
    at,
    fields: Object.fromEntries(
      (names === 'all' ? changed : names).map((name) => [
        name,
        { from: own(before, name) ?? null, to: own(now, name) ?? null },
      ]),
    ),
  });
  return {
    update(values, { at, isTakenOver }) {
      put(now, values);
      const changed = values.flatMap(([name]) =>
        deepEqual(own(now, name), own(before, name)) ? [] : [name],
      );
      const isQuiet = isTakenOver && !stand.begun;
      const firings = isQuiet
        ? []
        : matchTriggers(stand, { current: now, previous: before, changed, beyond, onProblem });
      const shown = found(
        isTakenOver
          ? firings.filter(({ trigger, as }) => as === 'exit' && side.indexed[trigger]?.cancelsOnExit)
          : firings,
        changed,
        at,
      );
      put(before, values);
      return shown;
    },
    lookAgain: (at) => found(lookAgain(stand, { current: now, beyond, onProblem }), [], at),
    holds(trigger) {
      if (trigger.afterwards !== undefined)
        return matches(trigger.afterwards, { current: now, previous: now });
      const place = side.placeOf.get(trigger);
      return place !== undefined && holdsNow(stand, place);
    },
    seen: (trigger, at) => seenOf(trigger, 'stay', [], at),
  };
}

const own = (values: Readonly<Record<string, Json>>, name: string): Json | undefined =>
  Object.hasOwn(values, name) ? values[name] : undefined;
