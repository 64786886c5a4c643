import type { ASTNode } from '@marcbachmann/cel-js';
import { nearest } from '../../kernel/nearest.ts';
import { compilePattern } from '../linear-regex.ts';
import { isPlainObject, ownProperty } from '../own-property.ts';
import { itemAt, itemsOf } from './access.ts';
import { begin, type Run } from './frame.ts';
import { type CelFunction, FUNCTIONS, METHODS } from './functions.ts';
import { isCel, MACRO_NAMES, macroUse } from './macro.ts';
import { Refusal } from './refusal.ts';
import type { Scope } from './scope.ts';
import { searchWith } from './text-functions.ts';
import { lift, MadeMap, type Value } from './value.ts';

type CallNode = Extract<ASTNode, { op: 'call' | 'rcall' }>;

export function compileCall(node: CallNode, scope: Scope): Run {
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

function compileRegex(subject: ASTNode, source: string, at: number, scope: Scope): Run {
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
function compileHas(node: CallNode, scope: Scope): Run {
  const [of, ...more] = node.op === 'call' ? node.args[1] : [];
  if (of === undefined || more.length > 0) throw hasArgument(node);
  const steps: Run[] = [];
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
