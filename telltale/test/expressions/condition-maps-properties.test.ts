import fc from 'fast-check';
import { describe, it } from 'vitest';
import { fieldsOf, matches } from '../../src/expressions/maps/conditions.ts';
import { parseConditions } from '../../src/expressions/maps/parse-conditions.ts';
import { moreRuns } from '../more-runs.ts';

/** The rules of docs/conditions.md, written again on the raw map, without a parser and without the room's code. */
const same = (a: unknown, b: unknown): boolean => JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return { map: entries.map(([key, item]) => [key, sorted(item)]) };
}
type Obj = Record<string, unknown>;
const isObj = (value: unknown): value is Obj =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const get = (of: unknown, path: string): unknown =>
  path
    .split('.')
    .reduce((at: unknown, key) => (isObj(at) && Object.keys(at).includes(key) ? at[key] : undefined), of);

function naiveMap(map: Obj, now: unknown, before: unknown, all = true): boolean {
  const results = Object.entries(map).map(([key, value]) => {
    if (key === 'all') return (value as Obj[]).every((each) => naiveMap(each, now, before));
    if (key === 'any') return (value as Obj[]).some((each) => naiveMap(each, now, before));
    if (key === 'not') return !naiveMap(value as Obj, now, before);
    return naiveTest(value, get(now, key), get(before, key));
  });
  return all ? results.every(Boolean) : results.some(Boolean);
}

const OPERATORS = [
  'not',
  'gt',
  'gte',
  'lt',
  'lte',
  'in',
  'contains',
  'matches',
  'exists',
  'changed',
  'from',
  'to',
];

function naiveTest(test: unknown, now: unknown, before: unknown): boolean {
  if (Array.isArray(test)) return test.some((each) => naiveTest(each, now, before));
  if (!isObj(test)) return now !== undefined && same(now, test);
  if (!Object.keys(test).every((key) => OPERATORS.includes(key)))
    return isObj(now) && naiveMap(test, now, before);
  return Object.entries(test).every(([operator, operand]) => {
    const changed = now === undefined || before === undefined ? now !== before : !same(now, before);
    if (operator === 'exists') return (now !== undefined) === operand;
    if (operator === 'changed') return operand ? changed : now !== undefined && !changed;
    if (operator === 'from') return changed && naiveTest(operand, before, undefined);
    if (operator === 'to') return changed && naiveTest(operand, now, before);
    if (now === undefined) return false;
    if (operator === 'not') return !naiveTest(operand, now, before);
    if (operator === 'in') return (operand as unknown[]).some((each) => same(each, now));
    if (operator === 'matches') return typeof now === 'string' && new RegExp(operand as string).test(now);
    if (operator === 'contains')
      return typeof now === 'string'
        ? typeof operand === 'string' && now.indexOf(operand) !== -1
        : Array.isArray(now) && now.some((each) => same(each, operand));
    if (typeof now !== typeof operand || !['number', 'string'].includes(typeof now)) return false;
    const [a, b] = [now as number, operand as number];
    return operator === 'gt' ? a > b : operator === 'gte' ? a >= b : operator === 'lt' ? a < b : a <= b;
  });
}

const scalar = fc.constantFrom<unknown>('a', 'b', 'ab', '', 0, 1, 2.5, true, false, null);
const value = fc.oneof(
  scalar,
  fc.array(scalar, { maxLength: 2 }),
  fc.dictionary(fc.constantFrom('x', 'y'), scalar, { maxKeys: 2 }),
);
const fields = fc.dictionary(
  fc.constantFrom('x', 'y', 'z'),
  fc.oneof(value, fc.dictionary(fc.constantFrom('x', 'y', 'z'), value, { maxKeys: 3 })),
  { maxKeys: 3 },
);
const key = fc.constantFrom('x', 'y', 'z', 'x.y', 'y.x', 'z.x.y');

const { map } = fc.letrec<{ map: Obj; test: unknown; operators: Obj }>((tie) => ({
  test: fc.oneof(
    { maxDepth: 3 },
    scalar,
    tie('operators'),
    fc.array(fc.oneof(scalar, tie('operators')), { minLength: 1, maxLength: 3 }),
    fc.dictionary(key, tie('test'), { minKeys: 1, maxKeys: 2 }),
  ),
  operators: fc.oneof(
    { maxDepth: 3 },
    fc.record(
      { gt: fc.constantFrom(0, 1, 'a'), lte: fc.constantFrom(2, 2.5, 'b') },
      { requiredKeys: ['gt'] },
    ),
    fc.record({ in: fc.array(value, { minLength: 1, maxLength: 3 }) }),
    fc.record({ contains: scalar }),
    fc.record({ matches: fc.constantFrom('^a', 'b$', 'a?b', '.') }),
    fc.record({ exists: fc.boolean() }),
    fc.record({ changed: fc.boolean() }),
    fc
      .record({ from: scalar, to: fc.array(scalar, { minLength: 1, maxLength: 2 }) }, { requiredKeys: [] })
      .filter((r) => Object.keys(r).length > 0),
    fc.record({ not: tie('test') }),
  ),
  map: fc.oneof(
    { maxDepth: 3 },
    fc.dictionary(key, tie('test'), { minKeys: 1, maxKeys: 3 }),
    fc.record({ any: fc.array(tie('map'), { minLength: 1, maxLength: 2 }), x: tie('test') }),
    fc.record({ all: fc.array(tie('map'), { minLength: 1, maxLength: 2 }) }),
    fc.record({ not: tie('map') }),
  ),
}));

const read = (conditions: unknown, matchAll = true) => {
  const parsed = parseConditions(conditions, { matchAll });
  if (!parsed.ok) throw new Error(`${JSON.stringify(conditions)}: ${parsed.error[0]?.message}`);
  return parsed.value;
};

describe('condition maps', () => {
  it('say what a naive reading of the raw map says', () => {
    fc.assert(
      fc.property(
        map,
        fc.boolean(),
        fields,
        fc.option(fields, { nil: undefined }),
        (conditions, matchAll, current, previous) => {
          const ours = matches(read(conditions, matchAll), { current, previous });
          return ours === naiveMap(conditions, current, previous, matchAll);
        },
      ),
      { numRuns: moreRuns(5_000) },
    );
  });

  it('do not change their answer when a field they do not mention changes', () => {
    fc.assert(
      fc.property(map, fields, fields, (conditions, current, previous) => {
        const condition = read(conditions);
        const roots = fieldsOf(condition).map(({ path }) => path[0]);
        const unrelated = ['x', 'y', 'z'].filter((name) => !roots.includes(name));
        const drop = (of: Obj) =>
          Object.fromEntries(Object.entries(of).filter(([name]) => !unrelated.includes(name)));
        return (
          matches(condition, { current, previous }) ===
          matches(condition, { current: drop(current), previous: drop(previous) })
        );
      }),
      { numRuns: moreRuns(2_000) },
    );
  });

  it('answer anything that JSON can hold with conditions or issues, never with a throw', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.object(), (value, odd) => {
        for (const conditions of [value, odd, { a: value }, { any: [value] }, { a: { not: odd } }]) {
          const parsed = parseConditions(conditions);
          if (parsed.ok) matches(parsed.value, { current: { a: value }, previous: { a: odd } });
          else if (parsed.error.length === 0) return false;
        }
        return true;
      }),
      { numRuns: moreRuns(1_500) },
    );
  });
});
