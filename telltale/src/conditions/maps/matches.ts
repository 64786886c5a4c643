import { deepEqual } from '../deep-equal.ts';
import { isPlainObject, readPath } from '../own-property.ts';
import type { Comparison, Condition, FieldTest } from './conditions.ts';

/** What conditions look at: the fields now, and as they were before the update (none before the first one). */
export interface Fields {
  readonly current: Readonly<Record<string, unknown>>;
  readonly previous?: Readonly<Record<string, unknown>> | undefined;
}

/** Whether `condition` holds. Pure, and bounded by the size of the condition and of the values it names. */
export function matches(condition: Condition, { current, previous }: Fields): boolean {
  return holds(condition, current, previous);
}

function holds(condition: Condition, now: unknown, before: unknown): boolean {
  switch (condition.kind) {
    case 'all':
      return condition.of.every((each) => holds(each, now, before));
    case 'any':
      return condition.of.some((each) => holds(each, now, before));
    case 'not':
      return !holds(condition.of, now, before);
    case 'field':
      return passes(condition.test, readPath(now, condition.path), readPath(before, condition.path));
  }
}

/** `now` and `before` are undefined where the field is missing. */
function passes(test: FieldTest, now: unknown, before: unknown): boolean {
  switch (test.kind) {
    case 'equals':
      return deepEqual(now, test.value);
    case 'any_of':
      return test.tests.some((each) => passes(each, now, before));
    case 'every':
      return test.tests.every((each) => passes(each, now, before));
    case 'inside':
      return isPlainObject(now) && holds(test.condition, now, before);
    case 'not':
      return now !== undefined && !passes(test.test, now, before);
    case 'compare':
      return compares(test.by, now, test.with);
    case 'in':
      return test.values.some((value) => deepEqual(now, value));
    case 'contains':
      if (typeof now === 'string') return typeof test.value === 'string' && now.includes(test.value);
      return Array.isArray(now) && now.some((item) => deepEqual(item, test.value));
    case 'matches':
      return typeof now === 'string' && test.pattern.test(now);
    case 'exists':
      return (now !== undefined) === test.is;
    case 'changed':
      return test.is ? !deepEqual(now, before) : now !== undefined && deepEqual(now, before);
    case 'from':
      return !deepEqual(now, before) && passes(test.test, before, undefined);
    case 'to':
      return !deepEqual(now, before) && passes(test.test, now, before);
  }
}

/** Numbers with numbers, strings with strings (by UTF-16 units, so ISO dates sort); nothing is converted. */
function compares(by: Comparison, now: unknown, wanted: number | string): boolean {
  if (typeof now === 'number' && typeof wanted === 'number') return ordered(by, now, wanted);
  return typeof now === 'string' && typeof wanted === 'string' && ordered(by, now, wanted);
}

function ordered<T extends number | string>(by: Comparison, a: T, b: T): boolean {
  switch (by) {
    case 'gt':
      return a > b;
    case 'gte':
      return a >= b;
    case 'lt':
      return a < b;
    case 'lte':
      return a <= b;
  }
}
