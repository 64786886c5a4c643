import { itemsOf, keysOf } from './access.ts';
import type { Budget } from './budget.ts';
import { toBool, toDouble, toInt, toText } from './conversions.ts';
import { Stop } from './stop.ts';
import {
  contains,
  endsWith,
  indexOf,
  join,
  lastIndexOf,
  lowerAscii,
  regex,
  split,
  startsWith,
  substring,
  trim,
  upperAscii,
} from './text-functions.ts';
import { TIME_FUNCTIONS, toDuration, toTimestamp } from './time.ts';
import { label, TypeValue, typeOf, type Value } from './value.ts';

/** A function of the language. A method gets what stands before its dot as the first argument. */
export interface CelFunction {
  /** How many arguments may stand between the brackets. */
  readonly arity: readonly number[];
  readonly call: (args: readonly Value[], budget: Budget) => Value;
}

const fn = (call: (of: Value, budget: Budget) => Value): CelFunction => ({
  arity: [1],
  call: ([of = null], budget) => call(of, budget),
});

const method = (arity: readonly number[], call: CelFunction['call']): CelFunction => ({ arity, call });

/** Counting reads all of a text, and lists all the keys of a map. */
const COUNTED_PER_UNIT = 8;

function size(of: Value, budget: Budget): bigint {
  if (typeof of === 'string') {
    budget.spend(of.length / COUNTED_PER_UNIT);
    let points = 0;
    for (const _ of of) points++;
    return BigInt(points);
  }
  const items = itemsOf(of);
  if (items !== undefined) return BigInt(items.length);
  const keys = keysOf(of);
  if (keys === undefined)
    throw new Stop('wrong_type', `size() was asked of ${label(of)}.`, 'It takes a string, list or map.');
  budget.spend(keys.length / COUNTED_PER_UNIT);
  return BigInt(keys.length);
}

export const FUNCTIONS: ReadonlyMap<string, CelFunction> = new Map([
  ['size', fn(size)],
  ['type', fn((of) => new TypeValue(typeOf(of)))],
  ['dyn', fn((of) => of)],
  ['bool', fn(toBool)],
  ['string', fn(toText)],
  ['int', fn(toInt)],
  ['double', fn(toDouble)],
  ['timestamp', fn(toTimestamp)],
  ['duration', fn(toDuration)],
]);

export const METHODS: ReadonlyMap<string, CelFunction> = new Map([
  ['size', method([0], ([of = null], budget) => size(of, budget))],
  ['contains', method([1], contains)],
  ['startsWith', method([1], startsWith)],
  ['endsWith', method([1], endsWith)],
  ['indexOf', method([1], indexOf)],
  ['lastIndexOf', method([1], lastIndexOf)],
  ['substring', method([1, 2], substring)],
  ['lowerAscii', method([0], lowerAscii)],
  ['upperAscii', method([0], upperAscii)],
  ['trim', method([0], trim)],
  ['split', method([1], split)],
  ['join', method([0, 1], join)],
  ['regex', method([1], regex)],
  ...[...TIME_FUNCTIONS].map(([name, read]) => [name, method([0], ([of = null]) => read(of))] as const),
]);
