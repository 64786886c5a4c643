import type { Json } from '../../lib/json.ts';
import type { PathSegment } from '../issue.ts';
import type { Pattern } from '../linear-regex.ts';
import { formatPath } from '../path.ts';
import { deepEqual, isPlainObject, readPath } from '../values.ts';

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
function compares(by: ConditionsComparison, now: unknown, wanted: number | string): boolean {
  if (typeof now === 'number' && typeof wanted === 'number') return ordered(by, now, wanted);
  return typeof now === 'string' && typeof wanted === 'string' && ordered(by, now, wanted);
}

function ordered<T extends number | string>(by: ConditionsComparison, a: T, b: T): boolean {
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

/** A field that a condition looks at. */
export interface FieldUse {
  /** From the top: `['context', 'phase']` for `context: { phase: … }` as for `context.phase: …`. */
  readonly path: readonly PathSegment[];
  /** Whether it asks for a change, so that the value before matters too. */
  readonly change: boolean;
}

/** The fields `condition` mentions, each once, in order: a change of any other field cannot change what it says. */
export function fieldsOf(condition: Condition): readonly FieldUse[] {
  const found = new Map<string, FieldUse>();
  for (const use of inCondition(condition, [])) {
    const key = formatPath(use.path);
    const known = found.get(key);
    if (known === undefined || (use.change && !known.change)) found.set(key, use);
  }
  return [...found.values()];
}

function inCondition(condition: Condition, base: readonly PathSegment[]): readonly FieldUse[] {
  switch (condition.kind) {
    case 'all':
    case 'any':
      return condition.of.flatMap((each) => inCondition(each, base));
    case 'not':
      return inCondition(condition.of, base);
    case 'field':
      return inTest(condition.test, [...base, ...condition.path]);
  }
}

function inTest(test: FieldTest, path: readonly PathSegment[]): readonly FieldUse[] {
  switch (test.kind) {
    case 'inside':
      return inCondition(test.condition, path);
    case 'any_of':
    case 'every':
      return test.tests.flatMap((each) => inTest(each, path));
    case 'not':
      return inTest(test.test, path);
    case 'changed':
    case 'from':
    case 'to':
      return [{ path, change: true }];
    case 'equals':
    case 'compare':
    case 'in':
    case 'contains':
    case 'matches':
    case 'exists':
      return [{ path, change: false }];
  }
}

/** A condition map that was read: a tree of plain data, for `matches`, `fieldsOf` and an index over many of them. */
export type Condition =
  | { readonly kind: 'all'; readonly of: readonly Condition[] }
  | { readonly kind: 'any'; readonly of: readonly Condition[] }
  | { readonly kind: 'not'; readonly of: Condition }
  | { readonly kind: 'field'; readonly path: readonly PathSegment[]; readonly test: FieldTest };

/** What is asked of one field. All but `exists`, `changed`, `from` and `to` are false for a field that is missing. */
export type FieldTest =
  | { readonly kind: 'equals'; readonly value: Json }
  | { readonly kind: 'any_of'; readonly tests: readonly FieldTest[] }
  /** A nested map: the field is an object in which these hold. */
  | { readonly kind: 'inside'; readonly condition: Condition }
  /** An operator map with more than one operator: all of them. */
  | { readonly kind: 'every'; readonly tests: readonly FieldTest[] }
  | { readonly kind: 'not'; readonly test: FieldTest }
  | { readonly kind: 'compare'; readonly by: ConditionsComparison; readonly with: number | string }
  | { readonly kind: 'in'; readonly values: readonly Json[] }
  | { readonly kind: 'contains'; readonly value: Json }
  | { readonly kind: 'matches'; readonly pattern: Pattern }
  | { readonly kind: 'exists'; readonly is: boolean }
  | { readonly kind: 'changed'; readonly is: boolean }
  /** The field changed, and what it was before passes the test. */
  | { readonly kind: 'from'; readonly test: FieldTest }
  /** The field changed, and what it is now passes the test. */
  | { readonly kind: 'to'; readonly test: FieldTest };

export type ConditionsComparison = 'gt' | 'gte' | 'lt' | 'lte';

export const OPERATORS = [
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
] as const;
export type Operator = (typeof OPERATORS)[number];

export const COMBINATORS = ['all', 'any', 'not'] as const;
