import type { Json } from '../../kernel/json.ts';
import { isPlainObject } from '../own-property.ts';
import type { Budget } from './budget.ts';
import { tooDeep } from './equality.ts';
import { MAX_VALUE_DEPTH } from './limits.ts';
import { Stop } from './stop.ts';
import { durationText, timestampText } from './time.ts';
import { Duration, label, MadeList, MadeMap, Timestamp, TypeValue, type Value } from './value.ts';

/**
 * The result of an expression as JSON. A list or object of the context is returned as it is; inside what the
 * expression made, every mention of one is paid for in full, so that a short list cannot stand for gigabytes.
 */
export function toJson(value: Value, budget: Budget, depth = 0): Json {
  switch (typeof value) {
    case 'bigint':
      return safeNumber(value);
    case 'number':
      if (Number.isFinite(value)) return value;
      throw new Stop('bad_value', `The result holds ${value}, which JSON cannot.`, 'Test the divisor first.');
    case 'string':
      if (depth > 0) budget.spendText(value.length);
      return value;
    case 'boolean':
      return value;
    case 'object':
      return value === null ? null : containerJson(value, budget, depth);
  }
}

function containerJson(value: Exclude<Value & object, null>, budget: Budget, depth: number): Json {
  if (depth === MAX_VALUE_DEPTH) throw tooDeep();
  if (value instanceof MadeList) {
    budget.spend(1 + value.items.length);
    return value.items.map((item) => toJson(item, budget, depth + 1));
  }
  if (value instanceof MadeMap) {
    budget.spend(1 + value.entries.size);
    return Object.fromEntries(
      [...value.entries].map(([key, item]) => [key, toJson(item, budget, depth + 1)]),
    );
  }
  if (value instanceof Timestamp) return timestampText(value);
  if (value instanceof Duration) return durationText(value);
  if (value instanceof TypeValue) {
    throw new Stop(
      'not_data',
      `The result holds ${label(value)}, which JSON cannot.`,
      'Compare it: type(x) == string.',
    );
  }
  if (depth > 0) payFor(value, budget, depth);
  return value as Json;
}

function payFor(value: unknown, budget: Budget, depth: number): void {
  budget.spend(1);
  if (typeof value === 'string') budget.spendText(value.length);
  if (typeof value !== 'object' || value === null) return;
  if (depth === MAX_VALUE_DEPTH) throw tooDeep();
  const items = Array.isArray(value) ? value : isPlainObject(value) ? Object.values(value) : [];
  for (const item of items) payFor(item, budget, depth + 1);
}

function safeNumber(value: bigint): number {
  const number = Number(value);
  if (Number.isSafeInteger(number)) return number;
  throw new Stop(
    'out_of_range',
    `The result holds the int ${value}, which a JSON number cannot hold exactly.`,
    'Use string(x) or double(x).',
  );
}
