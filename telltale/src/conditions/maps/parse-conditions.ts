import { err, ok, type Result } from '../../kernel/result.ts';
import type { PathSegment } from '../issue.ts';
import { isPlainObject } from '../own-property.ts';
import { FIELD_NAME, parsePath } from '../path.ts';
import {
  badOperand,
  type ConditionIssue,
  emptyList,
  emptyMap,
  meansOperator,
  notAMap,
  tooDeep,
  tooLarge,
  unknownOperator,
} from './condition-issues.ts';
import { type Condition, OPERATORS } from './conditions.ts';
import { readTest } from './read-test.ts';
import { kindOf, type Reading } from './reading.ts';

const MAX_CONDITION_DEPTH = 16;
const MAX_CONDITION_PARTS = 1_000;

export interface ConditionOptions {
  /** `match_all` of the trigger: false means that one of the entries at the top is enough. */
  readonly matchAll?: boolean;
}

/** Reads a condition map and reports everything that is wrong with it at once, each with its path in the map. */
export function parseConditions(
  value: unknown,
  { matchAll = true }: ConditionOptions = {},
): Result<Condition, readonly ConditionIssue[]> {
  const issues: ConditionIssue[] = [];
  let parts = 0;
  const reading: Reading = {
    report: (issue) => {
      issues.push(issue);
    },
    enter(path) {
      if (path.length > MAX_CONDITION_DEPTH) issues.push(tooDeep(path, MAX_CONDITION_DEPTH));
      else if (++parts === MAX_CONDITION_PARTS + 1) issues.push(tooLarge(path, MAX_CONDITION_PARTS));
      return path.length <= MAX_CONDITION_DEPTH && parts <= MAX_CONDITION_PARTS;
    },
    readMap,
  };
  const condition = readMap(value, [], reading, matchAll ? 'all' : 'any');
  return issues.length === 0 ? ok(condition) : err(issues);
}

/** Stands in for what could not be read; it never leaves, since there is an issue then. */
const NOTHING: Condition = { kind: 'any', of: [] };

function readMap(
  value: unknown,
  path: readonly PathSegment[],
  reading: Reading,
  join: 'all' | 'any' = 'all',
): Condition {
  if (!reading.enter(path)) return NOTHING;
  if (!isPlainObject(value)) {
    reading.report(notAMap(path, kindOf(value)));
    return NOTHING;
  }
  const entries = Object.entries(value);
  if (entries.length === 0) reading.report(emptyMap(path));
  const of = entries.map(([key, entry]) => readEntry(key, entry, [...path, key], reading));
  const [only] = of;
  return of.length === 1 && only !== undefined ? only : { kind: join, of };
}

function readEntry(key: string, value: unknown, path: readonly PathSegment[], reading: Reading): Condition {
  switch (key) {
    case 'all':
    case 'any':
      return { kind: key, of: readMaps(key, value, path, reading) };
    case 'not':
      return { kind: 'not', of: readMap(value, path, reading) };
  }
  if (isMisspelt(key)) {
    reading.report(unknownOperator(path, key));
    return NOTHING;
  }
  const field = parsePath(key, FIELD_NAME);
  if (!field.ok) {
    reading.report({ ...field.error, path });
    return NOTHING;
  }
  return { kind: 'field', path: field.value, test: readTest(value, path, reading) };
}

/** `>=`, `$gt`, `gte ` with a space: operators that were misspelt, where a field was surely not meant. */
const isMisspelt = (key: string): boolean =>
  /^[<>=!~]+$/.test(key) ||
  (key.startsWith('$') && meansOperator(key)) ||
  (key !== key.trim() && OPERATORS.some((operator) => operator === key.trim()));

function readMaps(
  key: string,
  value: unknown,
  path: readonly PathSegment[],
  reading: Reading,
): readonly Condition[] {
  if (!Array.isArray(value)) {
    reading.report({
      ...badOperand(path, key, 'a list of maps', kindOf(value)),
      hint: `Write ${key}: [{ … }, { … }]. A field called "${key}" is written ["${key}"].`,
    });
    return [];
  }
  if (value.length === 0) reading.report(emptyList(path));
  return value.map((each, i) => readMap(each, [...path, i], reading));
}
