import { err, ok, type Result } from '../../lib/errors.ts';
import type { Json } from '../../lib/json.ts';
import type { PathSegment } from '../issue.ts';
import { compilePattern } from '../linear-regex.ts';
import { FIELD_NAME, parsePath } from '../path.ts';
import { isPlainObject } from '../values.ts';
import {
  badOperand,
  type ConditionIssue,
  emptyList,
  emptyMap,
  listInList,
  meansOperator,
  mixedMap,
  nestedChange,
  neverMatches,
  notAMap,
  operatorHint,
  readsLikeOperator,
  tooDeep,
  tooLarge,
  unknownOperator,
} from './condition-issues.ts';
import { type Condition, type FieldTest, OPERATORS, type Operator } from './conditions.ts';

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
  const reading: ParseConditionsReading = {
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
  reading: ParseConditionsReading,
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

function readEntry(
  key: string,
  value: unknown,
  path: readonly PathSegment[],
  reading: ParseConditionsReading,
): Condition {
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
  reading: ParseConditionsReading,
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

type ParseConditionsPath = readonly PathSegment[];

/** Stands in for what could not be read; it never leaves, since there is an issue then. */
const NO_TEST: FieldTest = { kind: 'any_of', tests: [] };

/** Reads what a field must be: a scalar, a list of alternatives, a nested map or a map of operators. */
function readTest(value: unknown, path: ParseConditionsPath, reading: ParseConditionsReading): FieldTest {
  if (!reading.enter(path)) return NO_TEST;
  if (Array.isArray(value)) return { kind: 'any_of', tests: readAlternatives(value, path, reading) };
  if (isPlainObject(value)) return readTestMap(value, path, reading);
  if (value === null || typeof value === 'string' || typeof value === 'boolean')
    return { kind: 'equals', value };
  if (typeof value === 'number' && Number.isFinite(value)) return { kind: 'equals', value };
  reading.report(badOperand(path, 'a condition', 'a JSON value', kindOf(value)));
  return NO_TEST;
}

function readAlternatives(
  values: readonly unknown[],
  path: ParseConditionsPath,
  reading: ParseConditionsReading,
): readonly FieldTest[] {
  if (values.length === 0) reading.report(emptyList(path));
  return values.map((value, i) => {
    if (!Array.isArray(value)) return readTest(value, [...path, i], reading);
    reading.report(listInList([...path, i]));
    return NO_TEST;
  });
}

const isOperator = (key: string) => OPERATORS.some((known) => known === key);
/** Words that stand among fields as well as among operators. */
const isCombinator = (key: string) => key === 'all' || key === 'any' || key === 'not';

function readTestMap(
  value: Readonly<Record<string, unknown>>,
  path: ParseConditionsPath,
  reading: ParseConditionsReading,
): FieldTest {
  const keys = Object.keys(value);
  if (keys.length === 0) reading.report(emptyMap(path));
  const fields = keys.filter((key) => !isOperator(key) && !isCombinator(key));
  const operators = keys.filter(
    (key) => isOperator(key) && !(isCombinator(key) && isPlainObject(value[key])),
  );
  if (fields.length > 0 && operators.length > 0) {
    reading.report(mixedMap(path, operators, fields));
    return NO_TEST;
  }
  if (fields.length > 0) return { kind: 'inside', condition: reading.readMap(value, path, reading) };
  return readOperators(value, keys, path, reading);
}

function readOperators(
  value: Readonly<Record<string, unknown>>,
  keys: readonly string[],
  path: ParseConditionsPath,
  reading: ParseConditionsReading,
): FieldTest {
  const others = keys.filter((key) => key !== 'exists' && key !== 'changed' && key !== 'from');
  if (value.exists === false && others.length > 0) reading.report(neverMatches(path, others));
  const tests = keys.map((key): FieldTest => {
    const at = [...path, key];
    const operand = value[key];
    if (key === 'all' || key === 'any') {
      if (Array.isArray(operand))
        return { kind: key === 'all' ? 'every' : 'any_of', tests: readAlternatives(operand, at, reading) };
      reading.report(badOperand(at, key, 'a list', kindOf(operand)));
      return NO_TEST;
    }
    const operator = OPERATORS.find((known) => known === key);
    if (operator !== undefined) return readOperator(operator, operand, at, reading, readTest) ?? NO_TEST;
    reading.report(unknownOperator(at, key));
    return NO_TEST;
  });
  const [only] = tests;
  return tests.length === 1 && only !== undefined ? only : { kind: 'every', tests };
}

type OperatorPath = readonly PathSegment[];
type ReadTest = (value: unknown, path: OperatorPath, reading: ParseConditionsReading) => FieldTest;

/** Reads one operator and what it takes; undefined where that is wrong (and was reported). */
function readOperator(
  operator: Operator,
  operand: unknown,
  path: OperatorPath,
  reading: ParseConditionsReading,
  readTest: ReadTest,
): FieldTest | undefined {
  const wrong = (needs: string, hint?: string) => {
    const issue = badOperand(path, operator, needs, kindOf(operand));
    reading.report(hint === undefined ? issue : { ...issue, hint });
    return undefined;
  };
  switch (operator) {
    case 'not':
      return { kind: 'not', test: readTest(operand, path, reading) };
    case 'gt':
    case 'gte':
    case 'lt':
    case 'lte':
      if (typeof operand === 'string' || (typeof operand === 'number' && Number.isFinite(operand)))
        return { kind: 'compare', by: operator, with: operand };
      return wrong('a number or a string');
    case 'in':
      return readIn(operand, path, reading, wrong);
    case 'contains':
      if (Array.isArray(operand))
        return wrong('one value', 'For several write all: [{ contains: a }, { contains: b }], or any: […].');
      return isJson(operand) ? { kind: 'contains', value: operand } : wrong('one value');
    case 'matches':
      return typeof operand === 'string'
        ? readPattern(operand, path, reading)
        : wrong('a regular expression');
    case 'exists':
    case 'changed':
      return typeof operand === 'boolean' ? { kind: operator, is: operand } : wrong('true or false');
    case 'from':
    case 'to': {
      const test = readTest(operand, path, reading);
      if (asksForChange(test)) reading.report(nestedChange(path, operator));
      return { kind: operator, test };
    }
  }
}

function readIn(
  operand: unknown,
  path: OperatorPath,
  reading: ParseConditionsReading,
  wrong: (needs: string, hint?: string) => undefined,
) {
  if (!Array.isArray(operand)) return wrong('a list', 'Write { in: [a, b] }.');
  if (operand.length === 0) {
    reading.report(emptyList(path));
    return undefined;
  }
  for (const _ of operand) if (!reading.enter(path)) return undefined;
  const values = operand.filter((value): value is Json => isJson(value));
  return values.length === operand.length
    ? ({ kind: 'in', values } as const)
    : wrong('a list of JSON values');
}

function readPattern(
  source: string,
  path: OperatorPath,
  reading: ParseConditionsReading,
): FieldTest | undefined {
  const pattern = compilePattern(source);
  if (pattern.ok) return { kind: 'matches', pattern: pattern.value };
  reading.report({ ...pattern.error, path });
  return undefined;
}

/** Whether a test looks at what the field was before. A nested map may too; `from` then sees no earlier value. */
function asksForChange(test: FieldTest): boolean {
  switch (test.kind) {
    case 'changed':
    case 'from':
    case 'to':
      return true;
    case 'any_of':
    case 'every':
      return test.tests.some(asksForChange);
    case 'not':
      return asksForChange(test.test);
    default:
      return false;
  }
}

const MAX_OPERAND_DEPTH = 16;

function isJson(value: unknown, depth = 0): value is Json {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true;
    case 'number':
      return Number.isFinite(value);
    case 'object':
      if (value === null) return true;
      if (depth === MAX_OPERAND_DEPTH) return false;
      if (Array.isArray(value)) return value.every((item) => isJson(item, depth + 1));
      return isPlainObject(value) && Object.values(value).every((item) => isJson(item, depth + 1));
    default:
      return false;
  }
}

/** What the readers of a condition map share. */
export interface ParseConditionsReading {
  report(issue: ConditionIssue): void;
  /** Counts one part of the map; false (and an issue) where the map is too deep or too large to go on. */
  enter(path: readonly PathSegment[]): boolean;
  /** Reads a map of fields and combinators. */
  readonly readMap: (
    value: unknown,
    path: readonly PathSegment[],
    reading: ParseConditionsReading,
  ) => Condition;
}

/** What `value` is, as a message names it. */
function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  switch (typeof value) {
    case 'string':
      return `the string ${JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)}`;
    case 'number':
    case 'boolean':
      return String(value);
    case 'object':
      return 'a map';
    default:
      return `a ${typeof value}`;
  }
}

/** A field inside a field that was likely meant to be an operator. */
export interface LikelyOperator {
  /** Keys and indices from the top of the map: `['progress', 'greater']`. */
  readonly path: readonly PathSegment[];
  readonly message: string;
  readonly hint: string;
}

/** Operators whose operand is data, not conditions. */
const isData = (key: string) => key === 'in' || key === 'contains';
const isKnownOperator = (key: string) => OPERATORS.some((operator) => operator === key);

/**
 * `progress: { greater: 3 }` looks for a field `greater` inside `progress`, and must: there may be one. Where such a
 * name stands alone in its map it is worth a word; written as a path (`progress.greater: 3`) it is meant. `conditions`
 * have been read without an issue, so their depth and size are bounded.
 */
export function likelyOperators(
  conditions: unknown,
  path: readonly PathSegment[] = [],
): readonly LikelyOperator[] {
  if (Array.isArray(conditions))
    return conditions.flatMap((each, index) => likelyOperators(each, [...path, index]));
  if (!isPlainObject(conditions)) return [];
  return Object.entries(conditions).flatMap(([key, value]) => {
    if (isData(key)) return [];
    const inside = [...path, key];
    const found = loneOperator(key, value);
    return found === undefined
      ? likelyOperators(value, inside)
      : [
          {
            path: [...inside, found],
            message: `This looks for a field "${found}" inside "${key}"; no operator has that name.`,
            hint: `${operatorHint(found)} If the field is meant, write "${key}.${found}: …".`,
          },
        ];
  });
}

function loneOperator(field: string, value: unknown): string | undefined {
  if (isKnownOperator(field) || field === 'all' || field === 'any' || !isPlainObject(value)) return undefined;
  const [only, another] = Object.keys(value);
  if (only === undefined || another !== undefined || isKnownOperator(only) || isPlainObject(value[only]))
    return undefined;
  return readsLikeOperator(only) ? only : undefined;
}
