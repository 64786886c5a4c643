import type { ASTNode } from '@marcbachmann/cel-js';
import { ownProperty } from '../own-property.ts';
import { index, select } from './access.ts';
import { compileCall } from './compile-call.ts';
import { compileMacro } from './compile-macro.ts';
import { asBool, attempt, begin, type Frame, type Run } from './frame.ts';
import { readMacro } from './macro.ts';
import { nameHint } from './name-hint.ts';
import { checkedInt, negate, not, OPERATORS } from './operators.ts';
import { Refusal } from './refusal.ts';
import type { Scope } from './scope.ts';
import { Stop } from './stop.ts';
import { label, lift, MadeList, MadeMap, TYPE_NAMES, type TypeName, TypeValue, type Value } from './value.ts';

/**
 * Turns the syntax tree into closures, once for each expression. Depth is bounded by the parser's limits. The library's
 * own evaluator is not used: its work and memory cannot be bounded (docs/decisions/cel.md).
 */
export function compile(node: ASTNode, scope: Scope): Run {
  const macro = readMacro(node);
  if (macro !== undefined) return compileMacro(macro, node, scope);
  const at = node.pos;
  switch (node.op) {
    case 'value':
      return constant(literal(node.args, node));
    case 'id':
      return compileName(node.args, at, scope);
    case '.': {
      const of = compile(node.args[0], scope);
      const key = node.args[1];
      return (frame) => {
        const value = of(frame);
        begin(frame, at);
        return select(value, key);
      };
    }
    case '[]':
      return compileBinary(node.args, at, scope, index);
    case 'call':
    case 'rcall':
      return compileCall(node, scope);
    case 'list':
      return compileList(node.args, scope);
    case 'map':
      return compileMap(node.args, scope);
    case '?:':
      return compileTernary(node.args, scope);
    case '||':
      return compileLogic(node.args, true, scope);
    case '&&':
      return compileLogic(node.args, false, scope);
    case '!_':
      return compileUnary(node.args, at, scope, not);
    case '-_':
      if (node.args.op === 'value' && typeof node.args.args === 'bigint')
        return constant(literal(-node.args.args, node));
      return compileUnary(node.args, at, scope, negate);
    case '.?':
    case '[?]':
      throw new Refusal('refused', 'Optional access (".?") is not part of this language.', at, OPTIONAL_HINT);
    default: {
      const operator = OPERATORS.get(node.op);
      if (operator === undefined)
        throw new Refusal('refused', `"${node.op}" is not part of this language.`, at);
      return compileBinary(node.args, at, scope, (a, b, frame) => operator(a, b, frame.budget));
    }
  }
}

const OPTIONAL_HINT = 'Write has(a.b) ? a.b : other.';

const constant =
  (value: Value): Run =>
  () =>
    value;

function literal(value: unknown, node: ASTNode): Value {
  if (typeof value === 'bigint') {
    try {
      return checkedInt(value);
    } catch {
      throw new Refusal(
        'bad_literal',
        `The int ${value} does not fit into 64 bits.`,
        node.start,
        'Write it as a double: 1e20.',
      );
    }
  }
  if (value === null || typeof value === 'number' || typeof value === 'string' || typeof value === 'boolean')
    return value;
  if (value instanceof Uint8Array)
    throw new Refusal(
      'refused',
      'Bytes are not part of this language.',
      node.start,
      'Write a string without the b in front.',
    );
  throw new Refusal(
    'refused',
    'Unsigned ints are not part of this language.',
    node.start,
    'Write the number without the u.',
  );
}

const isTypeName = (name: string): name is TypeName => TYPE_NAMES.some((known) => known === name);

function compileName(name: string, at: number, scope: Scope): Run {
  const slot = scope.slots.get(name);
  if (slot !== undefined) {
    return (frame) => {
      begin(frame, at);
      return frame.locals[slot] ?? null;
    };
  }
  const type = isTypeName(name) ? new TypeValue(name) : undefined;
  return (frame) => {
    begin(frame, at);
    const value = lift(ownProperty(frame.context, name));
    if (value !== undefined) return value;
    if (type === undefined) throw noSuchName(name, frame);
    return type;
  };
}

const MAX_NAMES_SHOWN = 50;

const noSuchName = (name: string, { context }: Frame) =>
  new Stop('no_such_name', `Unknown name "${name}".`, () =>
    nameHint(name, Object.keys(context).slice(0, MAX_NAMES_SHOWN)),
  );

function compileUnary(of: ASTNode, at: number, scope: Scope, apply: (value: Value) => Value): Run {
  const run = compile(of, scope);
  return (frame) => {
    const value = run(frame);
    begin(frame, at);
    return apply(value);
  };
}

function compileBinary(
  [left, right]: readonly [ASTNode, ASTNode],
  at: number,
  scope: Scope,
  apply: (a: Value, b: Value, frame: Frame) => Value,
): Run {
  const runLeft = compile(left, scope);
  const runRight = compile(right, scope);
  return (frame) => {
    const a = runLeft(frame);
    const b = runRight(frame);
    begin(frame, at);
    return apply(a, b, frame);
  };
}

function compileList(elements: readonly ASTNode[], scope: Scope): Run {
  const runs = elements.map((element) => compile(element, scope));
  return (frame) => {
    frame.budget.spend(1 + runs.length);
    return new MadeList(runs.map((run) => run(frame)));
  };
}

function compileMap(entries: readonly (readonly [ASTNode, ASTNode])[], scope: Scope): Run {
  const runs = entries.map(([key, value]) => ({
    at: key.start,
    key: compile(key, scope),
    value: compile(value, scope),
  }));
  return (frame) => {
    const made = new Map<string, Value>();
    for (const { at, key, value } of runs) {
      const name = key(frame);
      begin(frame, at);
      if (typeof name !== 'string')
        throw new Stop(
          'wrong_type',
          `A map has ${label(name)} as a key.`,
          'Keys are strings; write {"name": value}.',
        );
      made.set(name, value(frame));
    }
    return new MadeMap(made);
  };
}

function compileTernary([test, yes, no]: readonly [ASTNode, ASTNode, ASTNode], scope: Scope): Run {
  const runTest = compile(test, scope);
  const runYes = compile(yes, scope);
  const runNo = compile(no, scope);
  return (frame) => (asBool(runTest(frame), frame, test.start, '"?:"') ? runYes(frame) : runNo(frame));
}

/** `||` and `&&`: one side that decides is enough, even where the other fails. */
function compileLogic([left, right]: readonly [ASTNode, ASTNode], decisive: boolean, scope: Scope): Run {
  const runLeft = compile(left, scope);
  const runRight = compile(right, scope);
  const sign = decisive ? '"||"' : '"&&"';
  return (frame) => {
    const first = attempt(() => asBool(runLeft(frame), frame, left.start, sign), frame);
    if (first === decisive) return decisive;
    const second = asBool(runRight(frame), frame, right.start, sign);
    if (second === decisive || !(first instanceof Stop)) return second;
    throw first;
  };
}
