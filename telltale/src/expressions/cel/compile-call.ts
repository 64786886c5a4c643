import type { ASTNode } from '@marcbachmann/cel-js';
import { nearest } from '../../lib/nearest.ts';
import { quote } from '../issue.ts';
import { compilePattern, type Pattern } from '../linear-regex.ts';
import { isPlainObject, ownProperty } from '../values.ts';
import { begin, type FrameRun, type FrameScope } from './frame.ts';
import { type Budget, LimitsStop, Refusal } from './limits.ts';
import { isCel, MACRO_NAMES, macroUse } from './names.ts';
import { checkedInt, checkedText } from './operators.ts';
import { durationText, TIME_FUNCTIONS, timestampText, toDuration, toTimestamp } from './time.ts';
import {
  Duration,
  itemAt,
  itemsOf,
  keysOf,
  label,
  lift,
  MadeList,
  MadeMap,
  Timestamp,
  TypeValue,
  typeOf,
  type Value,
} from './value.ts';

/** Where none stands in a text, its characters are its UTF-16 units. */
const SURROGATE = /[\ud800-\udfff]/;

type TextFunction = (args: readonly Value[], budget: Budget) => Value;

/** A function of a text and a part to look for in it, paid for at the worst case of such a search. */
const search =
  (find: (text: string, part: string) => Value): TextFunction =>
  ([of = null, part = null], budget) => {
    const text = asText(of);
    const wanted = asText(part);
    budget.spendSearch(text.length, wanted.length);
    return find(text, wanted);
  };

const contains = search((text, part) => text.includes(part));
const startsWith = search((text, part) => text.startsWith(part));
const endsWith = search((text, part) => text.endsWith(part));
const indexOf = search((text, part) => characterAt(text, text.indexOf(part)));
const lastIndexOf = search((text, part) => characterAt(text, text.lastIndexOf(part)));

/** Characters are code points everywhere, as `size()` counts them: an offset into UTF-16 units as one into those. */
function characterAt(text: string, offset: number): bigint {
  const before = text.slice(0, Math.max(offset, 0));
  return BigInt(SURROGATE.test(before) ? [...before].length : offset);
}

/** A function that reads a text from end to end. */
const pass =
  (change: (text: string) => string): TextFunction =>
  ([of = null], budget) => {
    const text = asText(of);
    budget.spendText(text.length * 2);
    return change(text);
  };

const trim = pass((text) => text.trim());
const lowerAscii = pass((text) => text.replace(/[A-Z]+/g, (run) => run.toLowerCase()));
const upperAscii = pass((text) => text.replace(/[a-z]+/g, (run) => run.toUpperCase()));

const substring: TextFunction = ([of = null, from = 0n, to], budget) => {
  const text = asText(of);
  budget.spendText(text.length);
  const characters = SURROGATE.test(text) ? charactersOf(text, budget) : text;
  const end = to === undefined ? BigInt(characters.length) : to;
  if (typeof from !== 'bigint' || typeof end !== 'bigint')
    throw new LimitsStop('wrong_type', 'substring() takes ints.', 'Write text.substring(0, 3).');
  if (from < 0n || end < from || end > BigInt(characters.length)) throw outside(from, end, characters.length);
  const part = characters.slice(Number(from), Number(end));
  return typeof part === 'string' ? part : part.join('');
};

/** As `size()` counts them, and at its price. */
function charactersOf(text: string, budget: Budget): readonly string[] {
  budget.spend(text.length / TEXT_FUNCTIONS_COUNTED_PER_UNIT);
  return [...text];
}

const TEXT_FUNCTIONS_COUNTED_PER_UNIT = 8;

const split: TextFunction = ([of = null, by = null], budget) => {
  const text = asText(of);
  const separator = asText(by);
  budget.spendSearch(text.length, separator.length);
  if (separator === '') {
    budget.spend(text.length);
    return new MadeList([...text]);
  }
  const parts: string[] = [];
  let from = 0;
  for (let at = text.indexOf(separator); at !== -1; at = text.indexOf(separator, from)) {
    budget.spend(1);
    parts.push(text.slice(from, at));
    from = at + separator.length;
  }
  parts.push(text.slice(from));
  return new MadeList(parts);
};

const join: TextFunction = ([of = null, by = ''], budget) => {
  const items = itemsOf(of);
  if (items === undefined)
    throw new LimitsStop('wrong_type', `join() was asked of ${label(of)}.`, 'It takes a list of strings.');
  const separator = asText(by);
  budget.spend(items.length);
  const parts = items.map((_, i) => asText(itemAt(of, items, i)));
  const length = parts.reduce((sum, part) => sum + part.length + separator.length, 0);
  return checkedText(length, budget, () => parts.join(separator));
};

/** Compiling a pattern takes up to 20 ms, a unit of work about 0.2 µs. */
const COMPILE_COST = 20_000;

/** `text.regex(pattern)` with a pattern that is known only now. */
const regex: TextFunction = ([of = null, source = null], budget) => {
  const text = asText(of);
  const wanted = asText(source);
  budget.spend(COMPILE_COST);
  const pattern = compilePattern(wanted);
  if (pattern.ok) return searchWith(pattern.value, text, budget);
  throw new LimitsStop('bad_pattern', pattern.error.message, pattern.error.hint);
};

/** `text.regex("…")`, whose pattern was compiled with the expression. */
function searchWith(pattern: Pattern, of: Value, budget: Budget): boolean {
  const text = asText(of);
  if (text.length > pattern.maxLength) throw tooLong(text.length, pattern.maxLength);
  budget.spend(1 + (text.length * pattern.programSize) / STEPS_PER_UNIT);
  return pattern.test(text);
}

/** The longest search that a pattern allows takes two thirds of the budget. */
const STEPS_PER_UNIT = 16;

function asText(value: Value): string {
  if (typeof value === 'string') return value;
  throw new LimitsStop('wrong_type', `A string was needed and ${label(value)} found.`, 'Use string(x).');
}

const outside = (from: bigint, to: bigint, length: number) =>
  new LimitsStop(
    'out_of_range',
    `substring(${from}, ${to}) is outside a text of ${length} characters.`,
    'Test size() first.',
  );

const tooLong = (length: number, most: number) =>
  new LimitsStop(
    'too_costly',
    `regex() was asked to search ${length} characters; with this pattern ${most} are allowed.`,
    'Search a part: text.substring(0, 1000).regex("…").',
  );

type CallNode = Extract<ASTNode, { op: 'call' | 'rcall' }>;

export function compileCall(node: CallNode, scope: FrameScope): FrameRun {
  const { name, at, args, operands } = readCall(node);
  if (name === 'matches') throw refusedMatches(at);
  if (node.op === 'call' && name === 'has') return compileHas(node, scope);
  const known = node.op === 'call' ? FUNCTIONS.get(name) : METHODS.get(name);
  if (known === undefined) throw wrongMacro(node, name, at) ?? unknownFunction(name, at, node.op);
  if (!known.arity.includes(args.length)) throw wrongArguments(name, known, args.length, at);
  const [subject, pattern] = operands;
  if (
    name === 'regex' &&
    subject !== undefined &&
    pattern?.op === 'value' &&
    typeof pattern.args === 'string'
  )
    return compileRegex(subject, pattern.args, pattern.start, scope);
  const runs = operands.map((operand) => scope.compile(operand, scope));
  return (frame) => {
    const values = runs.map((run) => run(frame));
    begin(frame, at);
    return known.call(values, frame.budget);
  };
}

interface Call {
  readonly name: string;
  /** Where the name stands. */
  readonly at: number;
  readonly args: readonly ASTNode[];
  /** The arguments, with what stands before the dot in front. */
  readonly operands: readonly ASTNode[];
}

function readCall(node: CallNode): Call {
  if (node.op === 'call')
    return { name: node.args[0], at: node.start, args: node.args[1], operands: node.args[1] };
  const [name, receiver, args] = node.args;
  return { name, at: node.input.indexOf(name, receiver.end), args, operands: [receiver, ...args] };
}

function compileRegex(subject: ASTNode, source: string, at: number, scope: FrameScope): FrameRun {
  const pattern = compilePattern(source);
  if (!pattern.ok) throw new Refusal('bad_pattern', pattern.error.message, at, pattern.error.hint);
  const run = scope.compile(subject, scope);
  return (frame) => {
    const text = run(frame);
    begin(frame, at);
    return searchWith(pattern.value, text, frame.budget);
  };
}

/**
 * `has(a.b[0].c)`: whether every step of the path is there. Kinder than CEL, where a missing `b` is an error: a
 * test for what may be missing should not fail because even more is missing. A key that holds null is there.
 */
function compileHas(node: CallNode, scope: FrameScope): FrameRun {
  const [of, ...more] = node.op === 'call' ? node.args[1] : [];
  if (of === undefined || more.length > 0) throw hasArgument(node);
  const steps: FrameRun[] = [];
  let root = of;
  while (root.op === '.' || root.op === '[]') {
    const key = root.args[1];
    steps.push(typeof key === 'string' ? () => key : scope.compile(key, scope));
    root = root.args[0];
  }
  if (root.op !== 'id') throw hasArgument(node);
  steps.reverse();
  const slot = scope.slots.get(root.args);
  const name = root.args;
  const at = node.start;
  return (frame) => {
    begin(frame, at);
    let value = slot === undefined ? lift(ownProperty(frame.context, name)) : frame.locals[slot];
    for (const step of steps) {
      if (value === undefined) return false;
      const key = step(frame);
      begin(frame, at);
      value = find(value, key);
    }
    return value !== undefined;
  };
}

function find(of: Value, key: Value): Value | undefined {
  if (typeof key === 'string') {
    if (of instanceof MadeMap) return of.entries.get(key);
    return isPlainObject(of) ? lift(ownProperty(of, key)) : undefined;
  }
  const items = itemsOf(of);
  if (items === undefined || typeof key !== 'bigint' || key < 0n || key >= items.length) return undefined;
  return itemAt(of, items, Number(key));
}

const hasArgument = (node: ASTNode) =>
  new Refusal('wrong_arguments', 'has() takes one path.', node.start, 'Write has(metadata.status).');

const refusedMatches = (at: number) =>
  new Refusal(
    'refused',
    'matches() is not allowed: its regular expressions can run for minutes.',
    at,
    'Write text.regex("…") instead: the same test with RE2 patterns, whose time is bounded.',
  );

/** A macro that could not be read as one has the wrong arguments. */
function wrongMacro(node: CallNode, name: string, at: number): Refusal | undefined {
  if (node.op === 'call' || (name === 'bind' && !isCel(node.args[1]))) return undefined;
  const use = macroUse(name);
  return use === undefined ? undefined : new Refusal('wrong_arguments', use.takes, at, use.hint);
}

function unknownFunction(name: string, at: number, op: 'call' | 'rcall'): Refusal {
  const [here, there] = op === 'call' ? [FUNCTIONS, METHODS] : [METHODS, FUNCTIONS];
  const own = [...here.keys(), ...(op === 'call' ? ['has'] : MACRO_NAMES)];
  const written = (known: string) => (op === 'call' ? `${known}(x)` : `x.${known}()`);
  const near = nearest(name, own);
  const hint =
    near !== undefined
      ? `Did you mean ${written(near)}?`
      : there.has(name) || name === 'has'
        ? `Write ${op === 'call' ? `x.${name}()` : `${name}(x)`}.`
        : `Known: ${own.map(written).join(', ')}.`;
  return new Refusal('unknown_function', `There is no function ${written(name)}.`, at, hint);
}

function wrongArguments(name: string, known: CelFunction, found: number, at: number): Refusal {
  const wanted = known.arity.join(' or ');
  return new Refusal(
    'wrong_arguments',
    `${name}() takes ${wanted} ${wanted === '1' ? 'argument' : 'arguments'} and was given ${found}.`,
    at,
  );
}

const INT = /^[+-]?\d{1,19}$/;
const DOUBLE = /^[+-]?(?:\d{1,400}\.?\d{0,400}|\.\d{1,400})(?:[eE][+-]?\d{1,4})?$/;

function toInt(of: Value): bigint {
  if (typeof of === 'bigint') return of;
  if (typeof of === 'number' && Number.isFinite(of)) return checkedInt(BigInt(Math.trunc(of)));
  if (typeof of === 'string' && INT.test(of)) return checkedInt(BigInt(of.replace(/^\+/, '')));
  if (of instanceof Timestamp) return BigInt(Math.floor(of.ms / 1000));
  throw cannotConvert('int', of);
}

function toDouble(of: Value): number {
  if (typeof of === 'bigint' || typeof of === 'number') return Number(of);
  if (typeof of === 'string' && DOUBLE.test(of)) return Number(of);
  throw cannotConvert('double', of);
}

function toText(of: Value): string {
  if (typeof of === 'string') return of;
  if (typeof of === 'bigint' || typeof of === 'number' || typeof of === 'boolean') return String(of);
  if (of instanceof Timestamp) return timestampText(of);
  if (of instanceof Duration) return durationText(of);
  throw cannotConvert('string', of);
}

function toBool(of: Value): boolean {
  if (typeof of === 'boolean') return of;
  if (of === 'true') return true;
  if (of === 'false') return false;
  throw cannotConvert('bool', of);
}

function cannotConvert(to: string, of: Value): LimitsStop {
  const what = typeof of === 'string' ? `the string ${quote(of)}` : label(of);
  return new LimitsStop('bad_value', `${to}() cannot convert ${what}.`);
}

/** A function of the language. A method gets what stands before its dot as the first argument. */
export interface CelFunction {
  /** How many arguments may stand between the brackets. */
  readonly arity: readonly number[];
  readonly call: (args: readonly Value[], budget: Budget) => Value;
}

const fn = (call: (of: Value, budget: Budget) => Value): CelFunction => ({
  arity: [1],
  call: ([of = null], budget) => call(of, budget),
});

const method = (arity: readonly number[], call: CelFunction['call']): CelFunction => ({ arity, call });

/** Counting reads all of a text, and lists all the keys of a map. */
const COUNTED_PER_UNIT = 8;

function size(of: Value, budget: Budget): bigint {
  if (typeof of === 'string') {
    budget.spend(of.length / COUNTED_PER_UNIT);
    let points = 0;
    for (const _ of of) points++;
    return BigInt(points);
  }
  const items = itemsOf(of);
  if (items !== undefined) return BigInt(items.length);
  const keys = keysOf(of);
  if (keys === undefined)
    throw new LimitsStop(
      'wrong_type',
      `size() was asked of ${label(of)}.`,
      'It takes a string, list or map.',
    );
  budget.spend(keys.length / COUNTED_PER_UNIT);
  return BigInt(keys.length);
}

const FUNCTIONS: ReadonlyMap<string, CelFunction> = new Map([
  ['size', fn(size)],
  ['type', fn((of) => new TypeValue(typeOf(of)))],
  ['dyn', fn((of) => of)],
  ['bool', fn(toBool)],
  ['string', fn(toText)],
  ['int', fn(toInt)],
  ['double', fn(toDouble)],
  ['timestamp', fn(toTimestamp)],
  ['duration', fn(toDuration)],
]);

const METHODS: ReadonlyMap<string, CelFunction> = new Map([
  ['size', method([0], ([of = null], budget) => size(of, budget))],
  ['contains', method([1], contains)],
  ['startsWith', method([1], startsWith)],
  ['endsWith', method([1], endsWith)],
  ['indexOf', method([1], indexOf)],
  ['lastIndexOf', method([1], lastIndexOf)],
  ['substring', method([1, 2], substring)],
  ['lowerAscii', method([0], lowerAscii)],
  ['upperAscii', method([0], upperAscii)],
  ['trim', method([0], trim)],
  ['split', method([1], split)],
  ['join', method([0, 1], join)],
  ['regex', method([1], regex)],
  ...Array.from(TIME_FUNCTIONS, ([name, read]) => [name, method([0], ([of = null]) => read(of))] as const),
]);
