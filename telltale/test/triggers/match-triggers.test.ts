import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deepEqual } from '../../src/conditions/deep-equal.ts';
import { fieldsOf } from '../../src/conditions/maps/fields-of.ts';
import { matches } from '../../src/conditions/maps/matches.ts';
import { parseConditions } from '../../src/conditions/maps/parse-conditions.ts';
import { readPath } from '../../src/conditions/own-property.ts';
import { createTriggerStand, matchTriggers } from '../../src/triggers/match-triggers.ts';
import type { Fire, Firing, StateTrigger } from '../../src/triggers/state-trigger.ts';
import { createTriggerIndex } from '../../src/triggers/trigger-index.ts';

type Fields = Readonly<Record<string, unknown>>;
const PROPERTY_TIMEOUT_MS = 60_000;

/** The rules as they are written, over all triggers at each update. */
function naive(
  triggers: readonly StateTrigger[],
  history: readonly Fields[],
): readonly (readonly Firing[])[] {
  const held = triggers.map(() => false);
  const spent = triggers.map(() => false);
  return history.map((current, step) => {
    const previous = step === 0 ? undefined : history[step - 1];
    return triggers.flatMap(({ test, fire }, trigger): readonly Firing[] => {
      if (test.kind === 'opaque') throw new Error('only maps here');
      const was = held[trigger] === true;
      const holds = matches(test, { current, previous });
      held[trigger] = holds;
      if (holds && !was) {
        if (fire === 'on_exit' || (fire === 'once' && spent[trigger])) return [];
        spent[trigger] = true;
        return [{ trigger, as: 'enter' }];
      }
      if (!holds) return was && fire === 'on_exit' ? [{ trigger, as: 'exit' }] : [];
      const named = fieldsOf(test).some(
        ({ path }) => !deepEqual(readPath(current, path), readPath(previous, path)),
      );
      return fire === 'on_update' || (fire === 'on_change' && named) ? [{ trigger, as: 'stay' }] : [];
    });
  });
}

function indexed(triggers: readonly StateTrigger[], history: readonly Fields[]) {
  const stand = createTriggerStand(createTriggerIndex(triggers));
  return history.map((current, step) => {
    const previous = step === 0 ? undefined : history[step - 1];
    const names = new Set([...Object.keys(current), ...Object.keys(previous ?? {})]);
    const changed = [...names].filter((name) => !deepEqual(current[name], previous?.[name]));
    return matchTriggers(stand, { current, previous, changed });
  });
}

const trigger = (conditions: object, fire: Fire = 'on_enter', matchAll = true): StateTrigger => {
  const parsed = parseConditions(conditions, { matchAll });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.error));
  return { test: parsed.value, fire };
};

const scalar = fc.constantFrom<unknown>('a', 'b', 0, -0, 1, true, false, null);
const fieldValue = fc.oneof(
  { weight: 4, arbitrary: scalar },
  fc.array(scalar, { maxLength: 2 }),
  fc.record({ x: scalar, y: fc.oneof(scalar, fc.record({ z: scalar })) }, { requiredKeys: [] }),
);
const NAMES = ['f', 'g', 'h', 'i'];
const fields = fc.dictionary(fc.constantFrom(...NAMES), fieldValue, { maxKeys: 4 });

const operators = fc.oneof(
  fc.record({ not: scalar }),
  fc.record({ in: fc.array(scalar, { minLength: 1, maxLength: 3 }) }),
  fc.record({ gt: fc.constantFrom(0, 1, 'a') }),
  fc.record({ exists: fc.boolean() }),
  fc.record({ changed: fc.boolean() }),
  fc.record({ from: scalar }),
  fc.record({ to: scalar }),
  fc.record({ contains: scalar }),
);
const test = fc.oneof(
  { weight: 4, arbitrary: scalar },
  { weight: 2, arbitrary: fc.array(fc.oneof(scalar, operators), { minLength: 1, maxLength: 3 }) },
  operators,
  fc.record({ x: fc.oneof(scalar, operators) }),
  fc.record({ x: scalar, y: fc.oneof(scalar, fc.record({ z: scalar })) }),
);
const key = fc.constantFrom(...NAMES, 'f.x', 'g.y.z', 'h[0]');
const flat = fc.dictionary(key, test, { minKeys: 1, maxKeys: 3 });
const conditions = fc.oneof(
  { weight: 5, arbitrary: flat },
  fc.record({ any: fc.array(flat, { minLength: 1, maxLength: 2 }) }),
  fc.record({ not: flat }),
  fc.record({ all: fc.array(flat, { minLength: 1, maxLength: 2 }), f: test }),
);
const FIRES: readonly Fire[] = ['on_enter', 'on_change', 'on_update', 'on_exit', 'once'];
const anyTrigger = fc
  .tuple(conditions, fc.constantFrom(...FIRES), fc.boolean())
  .filter(([map, , matchAll]) => parseConditions(map, { matchAll }).ok)
  .map(([map, fire, matchAll]) => trigger(map, fire, matchAll));

describe('triggers on state', () => {
  it(
    'fire exactly as when each of them is looked at after each update',
    () => {
      fc.assert(
        fc.property(
          fc.array(anyTrigger, { minLength: 1, maxLength: 12 }),
          fc.array(fields, { minLength: 1, maxLength: 10 }),
          (triggers, history) => {
            expect(indexed(triggers, history)).toEqual(naive(triggers, history));
          },
        ),
        { numRuns: 2000 },
      );
    },
    PROPERTY_TIMEOUT_MS,
  );

  it('a condition that the defaults satisfy counts as false until the first update, and fires with it', () => {
    const history = [
      { status: 'IDLE', progress: 1 },
      { status: 'IDLE', progress: 2 },
    ];
    expect(indexed([trigger({ status: 'IDLE' })], history)).toEqual([[{ trigger: 0, as: 'enter' }], []]);
  });

  it('a test of its own is looked at when one of its fields changes', () => {
    let looks = 0;
    const opaque: StateTrigger = {
      test: {
        kind: 'opaque',
        fields: ['a', 'b'],
        holds: ({ current }) => {
          looks++;
          return current.a === current.b;
        },
      },
      fire: 'on_enter',
    };
    const history = [
      { a: 1, b: 2, c: 0 },
      { a: 1, b: 2, c: 1 },
      { a: 1, b: 1, c: 1 },
    ];
    expect(indexed([opaque], history)).toEqual([[], [], [{ trigger: 0, as: 'enter' }]]);
    expect(looks).toBe(2);
  });

  it('an update costs the tests that name what changed, and no others', () => {
    let looks = 0;
    const watcher = (field: string): StateTrigger => ({
      test: { kind: 'opaque', fields: [field], holds: () => ++looks > 0 },
      fire: 'on_enter',
    });
    const triggers = Array.from({ length: 1000 }, (_, i) => watcher(`f${i}`));
    indexed(triggers, [{ f1: 0 }]);
    const atFirst = looks;
    looks = 0;
    indexed(triggers, [{ f1: 0 }, { f1: 1 }]);
    expect(atFirst).toBe(1000);
    expect(looks - atFirst).toBe(1);
  });
});
