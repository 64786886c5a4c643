import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseConditions } from '../../src/expressions/maps/parse-conditions.ts';
import { deepEqual } from '../../src/expressions/values.ts';
import { compileTest } from '../../src/triggers/compile-triggers.ts';
import {
  createTriggerStand,
  holdsNow,
  lookAgain,
  matchTriggers,
  restoreTriggerStand,
} from '../../src/triggers/match-triggers.ts';
import type { Fire, Firing, StateTrigger } from '../../src/triggers/state-trigger.ts';
import { createTriggerIndex } from '../../src/triggers/trigger-index.ts';
import { moreRuns } from '../more-runs.ts';
import { conditionMap, fields, history } from './arbitrary-conditions.ts';
import { naiveFirings, type Values } from './naive-triggers.ts';

/** `restart` is the update before which the stand is made anew from the values. */
function indexed(
  triggers: readonly StateTrigger[],
  history: readonly Values[],
  { defaults = {}, restart = -1 }: { readonly defaults?: Values; readonly restart?: number } = {},
): readonly (readonly Firing[])[] {
  const index = createTriggerIndex(triggers);
  let stand = createTriggerStand(index);
  return history.map((current, step) => {
    const previous = step === 0 ? defaults : (history[step - 1] as Values);
    if (step === restart) stand = restoreTriggerStand(index, { current: previous, begun: step > 0 });
    const names = new Set([...Object.keys(current), ...Object.keys(previous)]);
    const changed = [...names].filter((name) => !deepEqual(current[name], previous[name]));
    return matchTriggers(stand, { current, previous, changed });
  });
}

const trigger = (conditions: object, fire: Fire = 'on_enter', matchAll = true): StateTrigger => {
  const parsed = parseConditions(conditions, { matchAll });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.error));
  return { test: parsed.value, fire };
};

const cel = (source: string, fire: Fire = 'on_enter'): StateTrigger => ({
  test: compileTest(source, 'metadata', 'w#0'),
  fire,
});

const FIRES: readonly Fire[] = ['on_enter', 'on_change', 'on_update', 'on_exit', 'once'];
const aFire = fc.constantFrom(...FIRES);
const mapTrigger = fc
  .tuple(conditionMap, aFire, fc.boolean(), fc.boolean())
  .filter(([each, , matchAll]) => parseConditions(each, { matchAll }).ok)
  .map(([each, fire, matchAll, watchesExit]) => ({
    ...trigger(each as object, fire, matchAll),
    watchesExit,
  }));
const CEL = [
  'metadata.f == "a"',
  'metadata.f == metadata.g',
  'has(metadata.f.x) && metadata.f.x == 1',
  'metadata.size() > 2',
  'metadata.exists(name, metadata[name] == 1)',
  'metadata.h > 1 || metadata.i == null',
];
const celTrigger = fc.tuple(fc.constantFrom(...CEL), aFire).map(([source, fire]) => cel(source, fire));
const anyTrigger = fc.oneof({ weight: 6, arbitrary: mapTrigger }, celTrigger);

describe('triggers on state', () => {
  it('fire exactly as when each of them is looked at after each update, whenever the session is taken up anew', () => {
    fc.assert(
      fc.property(
        fc.array(anyTrigger, { minLength: 1, maxLength: 12 }),
        fields,
        history,
        fc.integer({ min: -1, max: 9 }),
        (triggers, defaults, updates, restart) => {
          const expected = naiveFirings(triggers, defaults, updates);
          expect(indexed(triggers, updates, { defaults, restart })).toEqual(expected);
        },
      ),
      { numRuns: moreRuns(600) },
    );
  });

  it('a condition that the defaults satisfy counts as false until the first update, and fires with it', () => {
    const updates = [
      { status: 'IDLE', progress: 1 },
      { status: 'IDLE', progress: 2 },
    ];
    const defaults = { status: 'IDLE' };
    expect(indexed([trigger({ status: 'IDLE' })], updates, { defaults })).toEqual([
      [{ trigger: 0, as: 'enter' }],
      [],
    ]);
  });

  it('the first update has changed what differs from the defaults, and nothing else', () => {
    const triggers = [
      trigger({ status: { from: 'IDLE', to: 'CODING' } }),
      trigger({ status: { changed: true } }),
      trigger({ priority: { changed: true } }),
    ];
    const defaults = { status: 'IDLE', priority: 'LOW' };
    const [first] = indexed(triggers, [{ status: 'CODING', priority: 'LOW' }], { defaults });
    expect(first?.map((firing) => firing.trigger)).toEqual([0, 1]);
  });

  it('a condition on a change is over behind its update: each change is one more', () => {
    const updates = [10, 20, 30].map((progress) => ({ progress }));
    const enter = [{ trigger: 0, as: 'enter' }];
    expect(indexed([trigger({ progress: { changed: true } })], updates)).toEqual([enter, enter, enter]);
    expect(indexed([trigger({ progress: { changed: true } }, 'on_exit')], updates)).toEqual([[], [], []]);
  });

  it('null is matched by null and a missing field by exists: false, and neither by the other', () => {
    const triggers = [trigger({ a: null }), trigger({ a: { exists: false } }), trigger({ a: { not: 1 } })];
    const places = indexed(triggers, [{ a: 1 }, { a: null }, {}, { a: [] }]).map((each) =>
      each.map((firing) => firing.trigger),
    );
    expect(places).toEqual([[], [0, 2], [1], [2]]);
  });

  it('a condition that one field made true and another false in one update was never true', () => {
    const triggers = [trigger({ a: 1, b: 1 }, 'on_exit'), trigger({ b: 1, a: 1 }, 'on_enter')];
    const updates = [
      { a: 0, b: 1 },
      { a: 1, b: 0 },
      { a: 0, b: 1 },
    ];
    expect(indexed(triggers, updates)).toEqual([[], [], []]);
  });

  it('texts are told from the numbers, truths and nothings that they spell', () => {
    const values = [1, '1', true, 'true', null, 'null'];
    const triggers = values.map((value) => trigger({ a: value }));
    for (const [place, value] of values.entries())
      expect(indexed(triggers, [{ a: value }])).toEqual([[{ trigger: place, as: 'enter' }]]);
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

  it('a thousand triggers that ask the same are one question', () => {
    const triggers = Array.from({ length: 1000 }, () => trigger({ note: { contains: 'x' }, at: { lt: 5 } }));
    const { usersFrom, usersTo } = createTriggerIndex(triggers);
    expect([...usersTo].map((to, atom) => to - (usersFrom[atom] ?? 0))).toEqual([1000, 1000]);
  });

  it('a test that reads what is no field is looked at when that changes, which is no update', () => {
    const reads = (fire: Fire) => cel('metadata.a == 1 && open', fire);
    const stand = createTriggerStand(createTriggerIndex([reads('on_enter'), reads('on_update')]));
    const values = (open: boolean) => ({ current: { a: 1 }, beyond: { open } });
    expect(lookAgain(stand, values(true))).toEqual([]); // before the first update nothing holds
    expect(matchTriggers(stand, { ...values(false), previous: {}, changed: ['a'] })).toEqual([]);
    expect(lookAgain(stand, values(true))).toHaveLength(2);
    expect(lookAgain(stand, values(true))).toEqual([]);
    expect(holdsNow(stand, 0)).toBe(true);
  });
});
