import fc from 'fast-check';
import type { Values } from './naive-triggers.ts';

const scalar = fc.constantFrom<unknown>('a', 'b', 'ab', 0, -0, 1, 2, 3, 1, 2, true, false, null);
const compound = fc.oneof(
  fc.array(scalar, { maxLength: 2 }),
  fc.record(
    { x: scalar, y: fc.oneof(scalar, fc.record({ z: scalar }, { requiredKeys: [] })) },
    { requiredKeys: [] },
  ),
);
const fieldValue = fc.oneof({ weight: 4, arbitrary: scalar }, compound);
const NAMES = ['f', 'g', 'h', 'i'];
export const fields = fc.dictionary(fc.constantFrom(...NAMES), fieldValue, { maxKeys: 4 });
/** Values that mostly stay, as those of a session do. */
export const history = fc
  .tuple(
    fields,
    fc.array(fc.dictionary(fc.constantFrom(...NAMES), fieldValue, { maxKeys: 2 }), { maxLength: 9 }),
  )
  .map(([first, updates]) => {
    const all: Values[] = [first];
    for (const update of updates) {
      const next = { ...all.at(-1), ...update };
      // Now and then a field goes away.
      all.push(Object.fromEntries(Object.entries(next).filter(([, value]) => value !== 'b')));
    }
    return all;
  });

const { test } = fc.letrec((tie) => ({
  operators: fc.oneof(
    fc.record({ not: fc.oneof(scalar, fc.array(scalar, { minLength: 1, maxLength: 2 }), tie('test')) }),
    fc.record({ in: fc.array(fc.oneof(scalar, compound), { minLength: 1, maxLength: 3 }) }),
    fc.record(
      { gt: fc.constantFrom(0, 1, 'a'), lte: fc.constantFrom(1, 2, 3, 'b') },
      { requiredKeys: ['gt'] },
    ),
    fc.record({ gte: fc.constantFrom(0, 1, 2, 'a') }),
    fc.record({ lt: fc.constantFrom(0, 1, 2, 3, 'b') }),
    fc.record({ lte: fc.constantFrom(-1, 0, 1, 2) }),
    fc.record({ matches: fc.constantFrom('^a', 'b$') }),
    fc.record({ exists: fc.boolean() }),
    fc.record({ changed: fc.boolean() }),
    fc.record({ from: tie('test') }),
    fc.record({ to: tie('test') }),
    fc.record({ from: scalar, to: scalar }),
    fc.record({ contains: scalar }),
    fc.record({ any: fc.array(tie('test'), { minLength: 1, maxLength: 2 }) }),
    fc.record({ all: fc.array(tie('test'), { minLength: 1, maxLength: 2 }) }),
  ),
  test: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    scalar,
    scalar,
    tie('operators'),
    tie('operators'),
    fc.array(fc.oneof(scalar, tie('operators')), { minLength: 1, maxLength: 3 }),
    fc.record({ x: tie('test') }),
    fc.record({ x: tie('test'), y: fc.oneof(scalar, fc.record({ z: tie('test') })) }),
    fc.record({ '[0]': scalar }),
  ),
}));
const key = fc.constantFrom(...NAMES, 'f.x', 'g.y.z', 'h[0]');
const { map } = fc.letrec((tie) => ({
  flat: fc.dictionary(key, test, { minKeys: 1, maxKeys: 3 }),
  map: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    tie('flat'),
    tie('flat'),
    tie('flat'),
    fc.record({ any: fc.array(tie('map'), { minLength: 1, maxLength: 2 }) }),
    fc.record({ not: tie('map') }),
    fc.record({ all: fc.array(tie('map'), { minLength: 1, maxLength: 2 }), f: test }),
  ),
}));
/** Conditions that hold now and then: those above seldom do. */
const number = fc.constantFrom(0, 1, 2, 3);
const few = fc.array(scalar, { minLength: 1, maxLength: 3 });
const simpleTest = fc.oneof(
  scalar,
  few,
  fc.record({ not: fc.oneof(scalar, few) }),
  fc.record({ gt: number }),
  fc.record({ gte: number }),
  fc.record({ lt: number }),
  fc.record({ lte: number }),
  fc.record({ gte: number, lt: number }),
  fc.record({ exists: fc.boolean() }),
  fc.record({ changed: fc.boolean() }),
  fc.record({ from: scalar }),
  fc.record({ to: scalar }),
  fc.record({ x: fc.oneof(scalar, fc.record({ not: scalar }), fc.record({ exists: fc.boolean() })) }),
);
const simple = fc.dictionary(key, simpleTest, { minKeys: 1, maxKeys: 2 });

/** Maps of the whole condition language; not all of them can be read. */
export const conditionMap = fc.oneof({ weight: 2, arbitrary: simple }, map);
