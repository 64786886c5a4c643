import type { Json } from '../../kernel/json.ts';
import type { PathSegment } from '../issue.ts';
import { compilePattern } from '../linear-regex.ts';
import { isPlainObject } from '../own-property.ts';
import { badOperand, emptyList, nestedChange } from './condition-issues.ts';
import type { FieldTest, Operator } from './conditions.ts';
import { kindOf, type Reading } from './reading.ts';

type Path = readonly PathSegment[];
type ReadTest = (value: unknown, path: Path, reading: Reading) => FieldTest;

/** Reads one operator and what it takes; undefined where that is wrong (and was reported). */
export function readOperator(
  operator: Operator,
  operand: unknown,
  path: Path,
  reading: Reading,
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
  path: Path,
  reading: Reading,
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

function readPattern(source: string, path: Path, reading: Reading): FieldTest | undefined {
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
