import { isPlainObject } from '../values.ts';
import { type Budget, LimitsStop, MAX_TEXT_LENGTH, MAX_VALUE_DEPTH } from './limits.ts';
import {
  Duration,
  findKey,
  itemAt,
  itemsOf,
  keysOf,
  label,
  lift,
  MadeList,
  MadeMap,
  Timestamp,
  TypeValue,
  type Value,
} from './value.ts';

/** CEL's `==`: by value, all the way down; ints and doubles compare as numbers; other types are never equal. */
function equal(a: Value, b: Value, budget: Budget, depth = 0): boolean {
  if (a === b) return true;
  if (typeof a === 'string' || typeof b === 'string') return false;
  if (isNumeric(a) && isNumeric(b)) return a <= b && a >= b; // as ===, but 1n and 1 are equal too
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (a instanceof Timestamp) return b instanceof Timestamp && a.ms === b.ms;
  if (a instanceof Duration) return b instanceof Duration && a.ms === b.ms;
  if (a instanceof TypeValue) return b instanceof TypeValue && a.name === b.name;
  if (depth === MAX_VALUE_DEPTH) throw tooDeep();
  const items = itemsOf(a);
  if (items !== undefined) return equalLists(a, items, b, budget, depth);
  return equalMaps(a, b, budget, depth);
}

const isNumeric = (value: Value): value is bigint | number =>
  typeof value === 'bigint' || typeof value === 'number';

function equalLists(a: Value, items: readonly unknown[], b: Value, budget: Budget, depth: number): boolean {
  const others = itemsOf(b);
  if (others === undefined || others.length !== items.length) return false;
  for (let i = 0; i < items.length; i++) {
    budget.spend(1);
    if (!equal(itemAt(a, items, i), itemAt(b, others, i), budget, depth + 1)) return false;
  }
  return true;
}

function equalMaps(a: Value, b: Value, budget: Budget, depth: number): boolean {
  const keys = keysOf(a);
  const others = keysOf(b);
  if (keys === undefined || others === undefined || keys.length !== others.length) return false;
  budget.spend(keys.length);
  for (const key of keys) {
    const left = entry(a, key);
    const right = entry(b, key);
    if (left === undefined || right === undefined) return false;
    if (!equal(left, right, budget, depth + 1)) return false;
  }
  return true;
}

function entry(map: Value, key: string): Value | undefined {
  if (map instanceof MadeMap) return map.entries.get(key);
  return isPlainObject(map) && Object.hasOwn(map, key) ? lift(map[key]) : undefined;
}

export const tooDeep = () =>
  new LimitsStop(
    'too_costly',
    `A value is nested more than ${MAX_VALUE_DEPTH} deep.`,
    'Compare or return a part of it.',
  );

const MAX_INT = 9_223_372_036_854_775_807n;
const MIN_INT = -9_223_372_036_854_775_808n;

export type OperatorsOperator = (a: Value, b: Value, budget: Budget) => Value;

/** Two ints give an int; as soon as one is a double, the result is a double. */
function arithmetic(
  sign: string,
  ints: (a: bigint, b: bigint) => bigint,
  doubles: (a: number, b: number) => number,
): OperatorsOperator {
  return (a, b) => {
    if (typeof a === 'bigint' && typeof b === 'bigint') return checkedInt(ints(a, b));
    if (isNumber(a) && isNumber(b)) return doubles(Number(a), Number(b));
    throw cannot(a, sign, b);
  };
}

const isNumber = (value: Value): value is bigint | number =>
  typeof value === 'bigint' || typeof value === 'number';

const addNumbers = arithmetic(
  '+',
  (a, b) => a + b,
  (a, b) => a + b,
);
const subtractNumbers = arithmetic(
  '-',
  (a, b) => a - b,
  (a, b) => a - b,
);
const multiply = arithmetic(
  '*',
  (a, b) => a * b,
  (a, b) => a * b,
);
const divide = arithmetic(
  '/',
  (a, b) => a / nonZero(b),
  (a, b) => a / b,
);
const remainder = arithmetic(
  '%',
  (a, b) => a % nonZero(b),
  (a, b) => a % b,
);

const add: OperatorsOperator = (a, b, budget) => {
  if (typeof a === 'string' && typeof b === 'string')
    return checkedText(a.length + b.length, budget, () => a + b);
  const left = itemsOf(a);
  const right = itemsOf(b);
  if (left !== undefined && right !== undefined) {
    budget.spend(left.length + right.length);
    return new MadeList([...liftAll(a, left), ...liftAll(b, right)]);
  }
  if (a instanceof Duration && b instanceof Duration) return new Duration(a.ms + b.ms);
  if (a instanceof Timestamp && b instanceof Duration) return new Timestamp(a.ms + b.ms);
  if (a instanceof Duration && b instanceof Timestamp) return new Timestamp(a.ms + b.ms);
  return addNumbers(a, b, budget);
};

const subtract: OperatorsOperator = (a, b, budget) => {
  if (a instanceof Timestamp && b instanceof Timestamp) return new Duration(a.ms - b.ms);
  if (a instanceof Timestamp && b instanceof Duration) return new Timestamp(a.ms - b.ms);
  if (a instanceof Duration && b instanceof Duration) return new Duration(a.ms - b.ms);
  return subtractNumbers(a, b, budget);
};

const contained: OperatorsOperator = (a, b, budget) => {
  const items = itemsOf(b);
  if (items === undefined) {
    if (typeof b === 'string')
      throw new LimitsStop('wrong_type', '"in" was asked of a string.', 'Use text.contains(part).');
    if (typeof a !== 'string') throw cannot(a, 'in', b);
    return findKey(b, a) !== undefined;
  }
  for (let i = 0; i < items.length; i++) {
    budget.spend(1);
    if (equal(a, itemAt(b, items, i), budget)) return true;
  }
  return false;
};

/** -1, 0 or 1; NaN (a double that is no number) compares as neither. Strings go by UTF-16 units. */
function compare(sign: string, holds: (order: number) => boolean): OperatorsOperator {
  return (a, b, budget) => {
    if (isNumber(a) && isNumber(b)) return holds(order(a, b));
    if (typeof a === 'string' && typeof b === 'string') {
      budget.spendText(Math.min(a.length, b.length));
      return holds(order(a, b));
    }
    if (typeof a === 'boolean' && typeof b === 'boolean') return holds(order(a, b));
    if (a instanceof Timestamp && b instanceof Timestamp) return holds(order(a.ms, b.ms));
    if (a instanceof Duration && b instanceof Duration) return holds(order(a.ms, b.ms));
    throw cannot(a, sign, b);
  };
}

type Ordered = bigint | number | string | boolean;
const order = (a: Ordered, b: Ordered): number => (a < b ? -1 : a > b ? 1 : a >= b ? 0 : Number.NaN);

export const OPERATORS: ReadonlyMap<string, OperatorsOperator> = new Map<string, OperatorsOperator>([
  ['==', (a, b, budget) => equal(a, b, budget)],
  ['!=', (a, b, budget) => !equal(a, b, budget)],
  ['in', contained],
  ['+', add],
  ['-', subtract],
  ['*', multiply],
  ['/', divide],
  ['%', remainder],
  ['<', compare('<', (o) => o < 0)],
  ['<=', compare('<=', (o) => o <= 0)],
  ['>', compare('>', (o) => o > 0)],
  ['>=', compare('>=', (o) => o >= 0)],
]);

export function negate(value: Value): Value {
  if (typeof value === 'bigint') return checkedInt(-value);
  if (typeof value === 'number') return -value;
  if (value instanceof Duration) return new Duration(-value.ms);
  throw new LimitsStop('wrong_type', `${label(value)} cannot be negated.`, 'A minus sign takes a number.');
}

export function not(value: Value): boolean {
  if (typeof value === 'boolean') return !value;
  throw new LimitsStop('wrong_type', `"!" was applied to ${label(value)}.`, 'Compare it first: !(x == 1).');
}

export function checkedInt(value: bigint): bigint {
  if (value <= MAX_INT && value >= MIN_INT) return value;
  throw new LimitsStop(
    'out_of_range',
    `The int ${clip(String(value))} does not fit into 64 bits.`,
    'Use double(x).',
  );
}

/** A text of `length` characters, made only once it is paid for and known to be short enough. */
export function checkedText(length: number, budget: Budget, make: () => string): string {
  if (length > MAX_TEXT_LENGTH) {
    throw new LimitsStop(
      'too_costly',
      `A text of ${length} characters would be made; ${MAX_TEXT_LENGTH} are allowed.`,
    );
  }
  budget.spendText(length);
  return make();
}

const liftAll = (of: Value, items: readonly unknown[]): Value[] => items.map((_, i) => itemAt(of, items, i));

const clip = (digits: string) => (digits.length > 24 ? `${digits.slice(0, 24)}…` : digits);

function nonZero(divisor: bigint): bigint {
  if (divisor !== 0n) return divisor;
  throw new LimitsStop(
    'bad_value',
    'An int was divided by zero.',
    'Test the divisor first: d != 0 && n / d > 2.',
  );
}

function cannot(a: Value, sign: string, b: Value): LimitsStop {
  const text = (typeof a === 'string') !== (typeof b === 'string');
  const nothing = a === null || b === null;
  const hint = nothing
    ? 'Test for null first: x != null && x > 1.'
    : text
      ? 'Nothing is converted by itself: use string(x), int(x) or double(x).'
      : undefined;
  return new LimitsStop('wrong_type', `"${sign}" does not take ${label(a)} and ${label(b)}.`, hint);
}
