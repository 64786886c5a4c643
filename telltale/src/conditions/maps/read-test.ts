import type { PathSegment } from '../issue.ts';
import { isPlainObject } from '../own-property.ts';
import {
  badOperand,
  emptyList,
  emptyMap,
  listInList,
  mixedMap,
  neverMatches,
  unknownOperator,
} from './condition-issues.ts';
import { type FieldTest, OPERATORS } from './conditions.ts';
import { readOperator } from './read-operator.ts';
import { kindOf, type Reading } from './reading.ts';

type Path = readonly PathSegment[];

/** Stands in for what could not be read; it never leaves, since there is an issue then. */
const NOTHING: FieldTest = { kind: 'any_of', tests: [] };

/** Reads what a field must be: a scalar, a list of alternatives, a nested map or a map of operators. */
export function readTest(value: unknown, path: Path, reading: Reading): FieldTest {
  if (!reading.enter(path)) return NOTHING;
  if (Array.isArray(value)) return { kind: 'any_of', tests: readAlternatives(value, path, reading) };
  if (isPlainObject(value)) return readTestMap(value, path, reading);
  if (value === null || typeof value === 'string' || typeof value === 'boolean')
    return { kind: 'equals', value };
  if (typeof value === 'number' && Number.isFinite(value)) return { kind: 'equals', value };
  reading.report(badOperand(path, 'a condition', 'a JSON value', kindOf(value)));
  return NOTHING;
}

function readAlternatives(values: readonly unknown[], path: Path, reading: Reading): readonly FieldTest[] {
  if (values.length === 0) reading.report(emptyList(path));
  return values.map((value, i) => {
    if (!Array.isArray(value)) return readTest(value, [...path, i], reading);
    reading.report(listInList([...path, i]));
    return NOTHING;
  });
}

const isOperator = (key: string) => OPERATORS.some((known) => known === key);
/** Words that stand among fields as well as among operators. */
const isCombinator = (key: string) => key === 'all' || key === 'any' || key === 'not';

function readTestMap(value: Readonly<Record<string, unknown>>, path: Path, reading: Reading): FieldTest {
  const keys = Object.keys(value);
  if (keys.length === 0) reading.report(emptyMap(path));
  const fields = keys.filter((key) => !isOperator(key) && !isCombinator(key));
  const operators = keys.filter(
    (key) => isOperator(key) && !(isCombinator(key) && isPlainObject(value[key])),
  );
  if (fields.length > 0 && operators.length > 0) {
    reading.report(mixedMap(path, operators, fields));
    return NOTHING;
  }
  if (fields.length > 0) return { kind: 'inside', condition: reading.readMap(value, path, reading) };
  return readOperators(value, keys, path, reading);
}

function readOperators(
  value: Readonly<Record<string, unknown>>,
  keys: readonly string[],
  path: Path,
  reading: Reading,
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
      return NOTHING;
    }
    const operator = OPERATORS.find((known) => known === key);
    if (operator !== undefined) return readOperator(operator, operand, at, reading, readTest) ?? NOTHING;
    reading.report(unknownOperator(at, key));
    return NOTHING;
  });
  const [only] = tests;
  return tests.length === 1 && only !== undefined ? only : { kind: 'every', tests };
}
