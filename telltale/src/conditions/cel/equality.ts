import { isPlainObject } from '../own-property.ts';
import { itemAt, itemsOf, keysOf } from './access.ts';
import type { Budget } from './budget.ts';
import { MAX_VALUE_DEPTH } from './limits.ts';
import { Stop } from './stop.ts';
import { Duration, lift, MadeMap, Timestamp, TypeValue, type Value } from './value.ts';

/** CEL's `==`: by value, all the way down; ints and doubles compare as numbers; other types are never equal. */
export function equal(a: Value, b: Value, budget: Budget, depth = 0): boolean {
  if (a === b) return true;
  if (typeof a === 'string' || typeof b === 'string') return false;
  if (isNumber(a) && isNumber(b)) return a <= b && a >= b; // as ===, but 1n and 1 are equal too
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (a instanceof Timestamp) return b instanceof Timestamp && a.ms === b.ms;
  if (a instanceof Duration) return b instanceof Duration && a.ms === b.ms;
  if (a instanceof TypeValue) return b instanceof TypeValue && a.name === b.name;
  if (depth === MAX_VALUE_DEPTH) throw tooDeep();
  const items = itemsOf(a);
  if (items !== undefined) return equalLists(a, items, b, budget, depth);
  return equalMaps(a, b, budget, depth);
}

const isNumber = (value: Value): value is bigint | number =>
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
  new Stop(
    'too_costly',
    `A value is nested more than ${MAX_VALUE_DEPTH} deep.`,
    'Compare or return a part of it.',
  );
