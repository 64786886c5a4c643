import { compilePattern } from '../../conditions/linear-regex.ts';
import type { Json } from '../../kernel/json.ts';
import { type Condition, OPERATORS } from './shape-condition.ts';

/** A piece of CEL, and what it has to be put in brackets for. */
interface Cel {
  readonly text: string;
  readonly binds: 'all' | 'and' | 'or' | 'choice';
}

export interface CelNames {
  /** What stands for a variable; it is declared by asking for it. */
  variable(name: string): string;
  /** What could not be said as WorkRail means it. */
  doubt(what: string): void;
}

/** A condition of WorkRail as CEL: what is missing is null, texts are compared without regard to case and to space around. */
export const toCel = (condition: Condition, names: CelNames): string => {
  if (Object.keys(condition).length === 0) return 'true';
  return render(condition, names).text;
};

/** Several tests that must all hold; undefined where there is none. */
export function allOf(tests: readonly (string | undefined)[]): string | undefined {
  const given = tests.filter((test) => test !== undefined && test !== 'true') as readonly string[];
  if (given.length < 2) return given[0];
  return given.map((test) => (bindsLess(test) ? `(${test})` : test)).join(' && ');
}

/** Whether an `||` or a `?` stands outside of all brackets and texts. */
function bindsLess(test: string): boolean {
  const bare = test.replace(/"(?:[^"\\]|\\.)*"/g, '""');
  let depth = 0;
  for (const character of bare) {
    if ('(['.includes(character)) depth++;
    else if (')]'.includes(character)) depth--;
    else if (depth === 0 && '|?'.includes(character)) return true;
  }
  return false;
}

function render(condition: Condition, names: CelNames): Cel {
  if (condition.var !== undefined) return onVariable(condition, names.variable(condition.var), names);
  if (condition.and !== undefined) return joined(condition.and, 'and', names);
  if (condition.or !== undefined) return joined(condition.or, 'or', names);
  if (condition.not !== undefined) return not(render(condition.not, names));
  names.doubt('a condition without "var", "and", "or" or "not" never holds');
  return atom('false');
}

function onVariable(condition: Condition, x: string, names: CelNames): Cel {
  const given = OPERATORS.filter((operator) => condition[operator] !== undefined);
  const [operator] = given;
  if (given.length > 1)
    names.doubt(`of ${given.join(' and ')} WorkRail looks at ${operator} alone, and so does this`);
  if (operator === undefined) return not(atom(`${x} in [null, false, 0, ""]`));
  switch (operator) {
    case 'equals':
      return equals(x, condition.equals ?? null, names);
    case 'not_equals':
      return not(equals(x, condition.not_equals ?? null, names));
    case 'gt':
      return compared(x, '>', condition.gt);
    case 'gte':
      return compared(x, '>=', condition.gte);
    case 'lt':
      return compared(x, '<', condition.lt);
    case 'lte':
      return compared(x, '<=', condition.lte);
    case 'contains':
      return contains(x, lower(condition.contains ?? ''));
    case 'startsWith':
      return spelt(x, `startsWith(${quoted(lower(condition.startsWith ?? ''))})`);
    case 'endsWith':
      return spelt(x, `endsWith(${quoted(lower(condition.endsWith ?? ''))})`);
    case 'matches':
      return matches(x, `(?i)${condition.matches ?? ''}`, names);
    case 'in': {
      const values = condition.in ?? [];
      return values.length > 1 && values.every(isWord)
        ? isOneOf(x, values.map(lower))
        : or(values.map((value) => equals(x, value, names)));
    }
  }
}

/** As WorkRail compares: "Large " is "large", the text "3" is 3, and "yes" is true. */
function equals(x: string, value: Json, names: CelNames): Cel {
  if (value === null) return atom(`${x} == null`);
  if (typeof value === 'boolean') {
    const words = value ? ['true', '1', 'yes'] : ['false', '0', 'no'];
    return or([atom(`${x} == ${value}`), isOneOf(x, words)]);
  }
  if (typeof value === 'number')
    return or([atom(`${x} == ${numberText(value)}`), and([isText(x), atom(`${x}.trim() == "${value}"`)])]);
  if (typeof value === 'string') {
    const text = lower(value);
    const alike: Cel[] = [];
    if (text !== '' && Number.isFinite(Number(text))) alike.push(atom(`${x} == ${numberText(Number(text))}`));
    if (TRUE.includes(text)) alike.push(atom(`${x} == true`));
    if (FALSE.includes(text)) alike.push(atom(`${x} == false`));
    return or([isOneOf(x, [text]), ...alike]);
  }
  names.doubt('no variable ever equals a list or an object');
  return atom('false');
}

const TRUE = ['true', '1', 'yes'];
const FALSE = ['false', '0', 'no'];

const compared = (x: string, sign: string, value = 0): Cel =>
  and([atom(`type(${x}) in [int, double]`), atom(`${x} ${sign} ${numberText(value)}`)]);

/** CEL's patterns are RE2's: what needs to look ahead or back is none of them. */
function matches(x: string, pattern: string, names: CelNames): Cel {
  if (compilePattern(pattern).ok)
    return and([isScalar(x), atom(`string(${x}).trim().regex(${quoted(pattern)})`)]);
  names.doubt(`/${pattern.slice(4)}/ is not a pattern that a test may hold, so it never matches`);
  return atom('false');
}

/** A text holds it, or an element of a list does. */
const contains = (x: string, part: string): Cel => ({
  text:
    `type(${x}) == list ? ${x}.exists(each, string(each).lowerAscii().contains(${quoted(part)}))` +
    ` : ${spelt(x, `contains(${quoted(part)})`).text}`,
  binds: 'choice',
});

function isOneOf(x: string, words: readonly string[]): Cel {
  const text = `${x}.trim().lowerAscii()`;
  const [first = '', second] = words;
  const test =
    second === undefined ? `${text} == ${quoted(first)}` : `${text} in [${words.map(quoted).join(', ')}]`;
  return and([isText(x), atom(test)]);
}

/** Of how a value is written, without regard to case. */
const spelt = (x: string, call: string): Cel =>
  and([isScalar(x), atom(`string(${x}).trim().lowerAscii().${call}`)]);

const isScalar = (x: string): Cel => atom(`type(${x}) in [string, int, double, bool]`);
const isText = (x: string): Cel => atom(`type(${x}) == string`);

const joined = (conditions: readonly Condition[], how: 'and' | 'or', names: CelNames): Cel =>
  how === 'and'
    ? and(conditions.map((each) => render(each, names)))
    : or(gathered(conditions).map((each) => render(each, names)));

/** Words that one variable may equal, one behind the other, are one test. */
function gathered(conditions: readonly Condition[]): readonly Condition[] {
  const made: Condition[] = [];
  for (const each of conditions) {
    const last = made.at(-1);
    const words = last === undefined ? undefined : wordsOf(last);
    const more = wordsOf(each);
    if (last?.var === each.var && words !== undefined && more !== undefined)
      made.splice(-1, 1, { var: each.var, in: [...words, ...more] });
    else made.push(each);
  }
  return made;
}

/** What a condition compares its variable with, where that is words and nothing else. */
function wordsOf(condition: Condition): readonly string[] | undefined {
  if (condition.var === undefined || Object.keys(condition).length !== 2) return undefined;
  const values = condition.in ?? (condition.equals === undefined ? undefined : [condition.equals]);
  return values?.every(isWord) ? (values as readonly string[]) : undefined;
}

/** A text that equals nothing but texts. */
const isWord = (value: Json): value is string =>
  typeof value === 'string' &&
  (value.trim() === '' || !Number.isFinite(Number(value))) &&
  ![...TRUE, ...FALSE].includes(lower(value));

const and = (parts: readonly Cel[]): Cel => join(parts, ' && ', 'and', 'true');
const or = (parts: readonly Cel[]): Cel => join(parts, ' || ', 'or', 'false');

function join(parts: readonly Cel[], sign: string, binds: 'and' | 'or', none: string): Cel {
  const [first] = parts;
  if (first === undefined) return atom(none);
  if (parts.length === 1) return first;
  return {
    text: parts
      .map((part) => (part.binds === 'all' || part.binds === binds ? part.text : `(${part.text})`))
      .join(sign),
    binds,
  };
}

const not = (part: Cel): Cel => atom(`!(${part.text})`);
const atom = (text: string): Cel => ({ text, binds: 'all' });

/** The letters that CEL's lowerAscii knows. */
const lower = (text: string): string => text.trim().replace(/[A-Z]/g, (letter) => letter.toLowerCase());
const quoted = (text: string): string => JSON.stringify(text);
/** CEL has no exponent without a digit before it, and no plus sign. */
const numberText = (value: number): string => String(value);
