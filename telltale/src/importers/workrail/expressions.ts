import { compilePattern } from '../../expressions/linear-regex.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { createNames, identifierOf } from '../names.ts';
import type { ShapeCondition } from './shape.ts';

export interface ExpressionsCelNames {
  /** What stands for a variable; it is declared by asking for it. */
  variable(name: string): string;
  /** What could not be said as WorkRail means it. */
  doubt(what: string): void;
}

/** WorkRail looks at the first of these that a condition has, and at no other. */
const OPERATORS = [
  ...(['equals', 'not_equals', 'gt', 'gte', 'lt', 'lte'] as const),
  ...(['contains', 'startsWith', 'endsWith', 'matches', 'in'] as const),
];
const SIGNS = { gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;

/** A condition of WorkRail as CEL: what is missing is null, texts are compared without regard to case and to space around. */
export function toCel(condition: ShapeCondition, names: ExpressionsCelNames): string {
  const { and, or, not, var: variable } = condition;
  if (Object.keys(condition).length === 0) return 'true';
  if (variable !== undefined) return onVariable(condition, names.variable(variable), names);
  if (and !== undefined) return allOf(and.map((each) => toCel(each, names))) ?? 'true';
  if (or !== undefined) return anyOf(gathered(or).map((each) => toCel(each, names)));
  if (not !== undefined) return `!(${toCel(not, names)})`;
  names.doubt('a condition without "var", "and", "or" or "not" never holds');
  return 'false';
}

/** Several tests that must all hold; undefined where there is none. */
export function allOf(tests: readonly (string | undefined)[]): string | undefined {
  const given = tests.filter((test) => test !== undefined && test !== 'true') as readonly string[];
  return given.length < 2 ? given[0] : given.map((test) => bracketed(test, /[|?]/)).join(' && ');
}

const anyOf = (tests: readonly string[]): string =>
  tests.length < 2 ? (tests[0] ?? 'false') : tests.map((test) => bracketed(test, /[&?]/)).join(' || ');

/** The test, in brackets where one of these signs stands outside of all brackets and texts. */
function bracketed(test: string, signs: RegExp): string {
  let bare = test.replace(/"(?:[^"\\]|\\.)*"/g, '""');
  for (let before = ''; before !== bare; ) {
    before = bare;
    bare = bare.replace(/\([^()[\]]*\)|\[[^()[\]]*\]/g, '');
  }
  return signs.test(bare) ? `(${test})` : test;
}

function onVariable(condition: ShapeCondition, x: string, names: ExpressionsCelNames): string {
  const given = OPERATORS.filter((operator) => condition[operator] !== undefined);
  const [operator] = given;
  if (given.length > 1)
    names.doubt(`of ${given.join(' and ')} WorkRail looks at ${operator} alone, and so does this`);
  const text = operator === undefined ? '' : lower(String(condition[operator]));
  switch (operator) {
    case undefined:
      return `!(${x} in [null, false, 0, ""])`;
    case 'equals':
      return equals(x, condition.equals ?? null, names);
    case 'not_equals':
      return `!(${equals(x, condition.not_equals ?? null, names)})`;
    case 'contains':
      return `type(${x}) == list ? ${x}.exists(each, string(each).lowerAscii().contains(${quoted(text)})) : ${spelt(x, `contains(${quoted(text)})`)}`;
    case 'startsWith':
    case 'endsWith':
      return spelt(x, `${operator}(${quoted(text)})`);
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
function equals(x: string, value: Json, names: ExpressionsCelNames): string {
  if (value === null) return `${x} == null`;
  if (typeof value === 'boolean') return anyOf([`${x} == ${value}`, isOneOf(x, value ? TRUE : FALSE)]);
  if (typeof value === 'number')
    return anyOf([`${x} == ${value}`, `type(${x}) == string && ${x}.trim() == "${value}"`]);
  if (typeof value === 'string') {
    const text = lower(value);
    const isNumber = text !== '' && Number.isFinite(Number(text));
    const alike = [
      ...(isNumber ? [`${x} == ${Number(text)}`] : []),
      ...(TRUE.includes(text) ? [`${x} == true`] : []),
      ...(FALSE.includes(text) ? [`${x} == false`] : []),
    ];
    return anyOf([isOneOf(x, [text]), ...alike]);
  }
  names.doubt('no variable ever equals a list or an object');
  return 'false';
}

/** CEL's patterns are RE2's: what needs to look ahead or back is none of them. */
function matches(x: string, pattern: string, names: ExpressionsCelNames): string {
  if (compilePattern(pattern).ok) return `${isScalar(x)} && string(${x}).trim().regex(${quoted(pattern)})`;
  names.doubt(`/${pattern.slice(4)}/ is not a pattern that a test may hold, so it never matches`);
  return 'false';
}

function isOneOf(x: string, words: readonly string[]): string {
  const [first = '', second] = words.map(quoted);
  const test = second === undefined ? `== ${first}` : `in [${words.map(quoted).join(', ')}]`;
  return `type(${x}) == string && ${x}.trim().lowerAscii() ${test}`;
}

const isScalar = (x: string): string => `type(${x}) in [string, int, double, bool]`;
const spelt = (x: string, call: string): string =>
  `${isScalar(x)} && string(${x}).trim().lowerAscii().${call}`;

/** Words that one variable may equal, one behind the other, are one test. */
function gathered(conditions: readonly ShapeCondition[]): readonly ShapeCondition[] {
  const made: ShapeCondition[] = [];
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
function wordsOf(condition: ShapeCondition): readonly string[] | undefined {
  if (condition.var === undefined || Object.keys(condition).length !== 2) return undefined;
  const values = condition.in ?? (condition.equals === undefined ? undefined : [condition.equals]);
  return values?.every(isWord) ? (values as readonly string[]) : undefined;
}

/** A text that equals nothing but texts. */
const isWord = (value: Json): value is string =>
  typeof value === 'string' &&
  (value.trim() === '' || !Number.isFinite(Number(value))) &&
  ![...TRUE, ...FALSE].includes(lower(value));

/** The letters that CEL's lowerAscii knows. */
const lower = (text: string): string => text.trim().replace(/[A-Z]/g, (letter) => letter.toLowerCase());
const quoted = (text: string): string => JSON.stringify(text);

/** What stands for the names of WorkRail's context in `${…}`. */
export interface TemplateNames {
  /** `vars.x`, or the item of a loop. */
  reference(name: string): string;
  /** What an extension point is bound to; undefined where there is none. */
  binding(slot: string): string | undefined;
  /** What `{{…}}` works out, as a reference; undefined where it stays as it is. */
  computed(expression: string): string | undefined;
}

/**
 * A text of WorkRail's as a template of ours: `{{a.b}}` becomes a reference that says so where there is nothing, as
 * WorkRail does; a `${` of its own stays one. What works something out (`{{i + 1}}`) is worked out by a script.
 */
export function toTemplate(text: string, names: TemplateNames): string {
  let out = '';
  let at = 0;
  for (const found of text.matchAll(/\{\{([^{}]*)\}\}/g)) {
    const put = replacement(found[1]?.trim() ?? '', names);
    if (put === undefined) continue;
    const before = plainText(text.slice(at, found.index));
    // Dollars that come to stand before ours would change what it means.
    out += put.startsWith('${') ? before.replace(/\$+$/, (dollars) => dollars + dollars) : before;
    out += put;
    at = found.index + found[0].length;
  }
  return out + plainText(text.slice(at));
}

function replacement(token: string, names: TemplateNames): string | undefined {
  const slot = /^wr\.bindings\.(\w+)$/.exec(token)?.[1];
  const bound = slot === undefined ? undefined : names.binding(slot);
  if (bound !== undefined) return plainText(bound);
  const [root = '', ...rest] = token.split('.');
  if (root === 'wr') return undefined;
  if (/^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*$/.test(token) && rest.at(-1) !== 'length')
    return `\${${[names.reference(root), ...rest].join('.')} ?? '[unset: ${token}]'}`;
  const reference = names.computed(token);
  return reference === undefined ? undefined : `\${${reference}}`;
}

/** Text that holds no reference: two dollars before a brace are one. */
export const plainText = (text: string): string => text.replace(/\$+(?=\{)/g, (dollars) => dollars + dollars);

const EXPRESSION = /^[\w\s.+\-*/%()?:<>=!&|,'"[\]]+$/;
const STATEMENT = /=>|(?<![=!<>])=(?!=)|\b(?:new|function|while|for|await)\b/;
const WORD = /(?<![\w.'"])[A-Za-z_]\w*(?![\w'"])/g;
const NO_NAMES: ReadonlySet<string> = new Set('true false null undefined Math Number String'.split(' '));

/** An expression of JavaScript over WorkRail's variables, as code; undefined where it is something else. */
export function computedCode(expression: string, reference: (name: string) => string): string | undefined {
  if (!EXPRESSION.test(expression) || STATEMENT.test(expression)) return undefined;
  const code = expression.replace(WORD, (name) => (NO_NAMES.has(name) ? name : reference(name)));
  try {
    new Function(`return (${code});`);
  } catch {
    return undefined;
  }
  return `shown(() => ${code}, ${JSON.stringify(expression)})`;
}

/** Stands before such code: what cannot be worked out says so, as a reference to nothing does. */
export const SHOWN = `const shown = (of, text) => {
  try {
    const value = of();
    if (value !== undefined && value !== null && !Number.isNaN(value)) return value;
  } catch {}
  return '[unset: ' + text + ']';
};`;

/** The context variables of a workflow: WorkRail declares none, so they are found by who reads and who sets them. */
export class ExpressionsVariables {
  readonly declared: JsonObject[] = [];
  readonly #names = createNames('_');
  readonly #byName = new Map<string, string>();

  /** What a variable of WorkRail's is called here; it is declared by this. */
  named(name: string): string {
    const known = this.#byName.get(name) ?? this.#declare(name, {});
    this.#byName.set(name, known);
    return known;
  }

  /** A number that only the workflow sets, under a name of its own. */
  counter = (wanted: string, from: number): string =>
    this.#declare(wanted, { type: 'number', default: from, writers: ['workflow'] });

  /** A variable of ours that the agent sets. */
  own = (wanted: string, description: string): string => this.#declare(wanted, { description });

  /** Those that have another name here. */
  renamed = (): readonly (readonly [from: string, to: string])[] =>
    [...this.#byName].filter(([from, to]) => from !== to);

  #declare(wanted: string, more: JsonObject): string {
    const name = this.#names.take(identifierOf(wanted));
    this.declared.push({ name, ...more });
    return name;
  }
}

/** A line that says that what follows is put into the context. */
const LISTS =
  /\b(?:set|sets|setting|update|capture|record|store|keep|initialize|define|emit|persist)\b.*\b(?:context|variables?|fields?|keys?)\b|^\W*(?:set|capture|context variables?)\b[^.]*:\W*$/i;
const BULLET = /^(\s*)(?:[-*•]|\d+[.)])\s+/;
const FIRST_QUOTED = /^\s*(?:[-*•]|\d+[.)])\s+(?:\*\*)?(?:(?:set|update)\s+)?`([A-Za-z_]\w*)/i;
const QUOTED = /`([A-Za-z_]\w*)(?:\s*[=:][^`]*)?`/g;
const SET =
  /\b(?:set|sets|setting|initialize|increment|update)\s+(?:the\s+)?(?:context\s+)?(?:variables?\s+)?['"`]([A-Za-z_]\w*)/gi;
/** Words that stand in back-quotes beside variables and are none. */
const NO_VARIABLES: ReadonlySet<string> = new Set(
  (
    'context continue_workflow start_workflow complete_step notesMarkdown output artifacts true false null ' +
    'context_updates continue stop'
  ).split(' '),
);

/**
 * Variables that a prompt tells the agent to set, in words: whatever it lists in back-quotes behind "Set context
 * variables:" and the like. A guess on the generous side: a variable too many costs nothing, one that is not declared
 * cannot be set.
 */
export function namedVariables(text: string): ReadonlySet<string> {
  const found = new Set<string>();
  const add = (name = ''): void => {
    if (/^[A-Za-z_]\w{1,63}$/.test(name) && !NO_VARIABLES.has(name)) found.add(name);
  };
  /** Where the bullets of the list in hand begin; those further in are its explanations. */
  let indent: number | undefined;
  let isListing = false;
  for (const line of text.split('\n')) {
    for (const [, name] of line.matchAll(SET)) add(name);
    const bullet = BULLET.exec(line);
    if (isListing && bullet !== null) {
      indent ??= bullet[1]?.length ?? 0;
      if ((bullet[1]?.length ?? 0) <= indent) add(FIRST_QUOTED.exec(line)?.[1]);
    } else if (LISTS.test(line)) {
      isListing = true;
      indent = undefined;
      if (/context|variable/i.test(line)) for (const [, name] of line.matchAll(QUOTED)) add(name);
    } else if (line.trim() !== '') isListing = false;
  }
  return found;
}
