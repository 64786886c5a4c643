import { compilePattern } from '../../expressions/linear-regex.ts';
import type { Json } from '../../lib/json.ts';
import { allOf, anyOf } from '../values.ts';
import type { WorkrailCondition } from './workflow-schema.ts';

export interface ConditionNames {
  /** The CEL for a variable. */
  variable(name: string): string;
  /** Called with what does not mean exactly the same. */
  doubt(what: string): void;
}

const SIGNS = { gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;
const NUMERIC = ['gt', 'gte', 'lt', 'lte'] as const;
const TEXTUAL = ['contains', 'startsWith', 'endsWith', 'matches'] as const;
/** In WorkRail's order: of several operators in one condition, only the first counts. */
const OPERATORS = ['equals', 'not_equals', ...NUMERIC, ...TEXTUAL, 'in'] as const;

/** A condition as CEL. As in WorkRail, a missing variable is null, and text is compared without case and outer spaces. */
export function toCel(condition: WorkrailCondition, names: ConditionNames): string {
  const { and, or, not, var: variable } = condition;
  if (Object.keys(condition).length === 0) return 'true';
  if (variable !== undefined) return onVariable(condition, names.variable(variable), names);
  if (and !== undefined) return allOf(and.map((each) => toCel(each, names))) ?? 'true';
  if (or !== undefined) return anyOf(joined(or).map((each) => toCel(each, names)));
  if (not !== undefined) return `!(${toCel(not, names)})`;
  names.doubt('a condition without "var", "and", "or" or "not" never holds');
  return 'false';
}

function onVariable(condition: WorkrailCondition, x: string, names: ConditionNames): string {
  const given = OPERATORS.filter((operator) => condition[operator] !== undefined);
  const [operator] = given;
  if (given.length > 1)
    names.doubt(`of ${given.join(' and ')} WorkRail looks at ${operator} alone, and so does this`);
  const text = operator === undefined ? '' : quoted(lower(String(condition[operator])));
  switch (operator) {
    case undefined:
      return `!(${x} in [null, false, 0, ""])`;
    case 'equals':
      return equals(x, condition.equals ?? null, names);
    case 'not_equals':
      return `!(${equals(x, condition.not_equals ?? null, names)})`;
    case 'contains':
      return `type(${x}) == list ? ${x}.exists(each, string(each).lowerAscii().contains(${text})) : ${onText(x, `contains(${text})`)}`;
    case 'startsWith':
    case 'endsWith':
      return onText(x, `${operator}(${text})`);
    case 'matches':
      return matches(x, `(?i)${condition.matches ?? ''}`, names);
    case 'in': {
      const values = condition.in ?? [];
      return values.length > 1 && values.every(isWord)
        ? isOneOf(x, values.map(lower))
        : anyOf(values.map((value) => equals(x, value, names)));
    }
    default:
      return `type(${x}) in [int, double] && ${x} ${SIGNS[operator]} ${condition[operator] ?? 0}`;
  }
}

const TRUE = ['true', '1', 'yes'];
const FALSE = ['false', '0', 'no'];

/** As WorkRail compares: "Large " is "large", the text "3" is 3, and "yes" is true. */
function equals(x: string, value: Json, names: ConditionNames): string {
  if (value === null) return `${x} == null`;
  if (typeof value === 'boolean') return anyOf([`${x} == ${value}`, isOneOf(x, value ? TRUE : FALSE)]);
  if (typeof value === 'number')
    return anyOf([`${x} == ${value}`, `type(${x}) == string && ${x}.trim() == "${value}"`]);
  if (typeof value === 'string') {
    const text = lower(value);
    const tests = [isOneOf(x, [text])];
    if (text !== '' && Number.isFinite(Number(text))) tests.push(`${x} == ${Number(text)}`);
    if (TRUE.includes(text)) tests.push(`${x} == true`);
    if (FALSE.includes(text)) tests.push(`${x} == false`);
    return anyOf(tests);
  }
  names.doubt('no variable ever equals a list or an object');
  return 'false';
}

/** CEL has the patterns of RE2, which has no look-around and no back-references. */
function matches(x: string, pattern: string, names: ConditionNames): string {
  if (compilePattern(pattern).ok) return `${isScalar(x)} && string(${x}).trim().regex(${quoted(pattern)})`;
  names.doubt(`/${pattern.slice(4)}/ is not a pattern that a test may hold, so it never matches`);
  return 'false';
}

function isOneOf(x: string, words: readonly string[]): string {
  const list = words.map(quoted);
  const test = list.length > 1 ? `in [${list.join(', ')}]` : `== ${list[0] ?? '""'}`;
  return `type(${x}) == string && ${x}.trim().lowerAscii() ${test}`;
}

const isScalar = (x: string): string => `type(${x}) in [string, int, double, bool]`;
const onText = (x: string, call: string): string =>
  `${isScalar(x)} && string(${x}).trim().lowerAscii().${call}`;

/** Alternatives that compare one variable with words, as one condition with `in`, which is shorter in CEL. */
function joined(alternatives: readonly WorkrailCondition[]): readonly WorkrailCondition[] {
  const [first] = alternatives;
  const isWordOfFirst = (each: WorkrailCondition) =>
    each.var === first?.var && isWord(each.equals) && Object.keys(each).length === 2;
  if (first?.var === undefined || !alternatives.every(isWordOfFirst)) return alternatives;
  return [{ var: first.var, in: alternatives.map(({ equals: word }) => word as Json) }];
}

/** Text that equals nothing but text. */
const isWord = (value: Json | undefined): value is string =>
  typeof value === 'string' &&
  (value.trim() === '' || !Number.isFinite(Number(value))) &&
  ![...TRUE, ...FALSE].includes(lower(value));

/** Changes the same letters as `lowerAscii` of CEL. */
const lower = (text: string): string => text.trim().replace(/[A-Z]/g, (letter) => letter.toLowerCase());
const quoted = (text: string): string => JSON.stringify(text);
