import type { ASTNode } from '@marcbachmann/cel-js';
import { ownProperty } from '../values.ts';
import { compileCall } from './compile-call.ts';
import { asBool, attempt, begin, type CelFrame, type FrameRun, type FrameScope } from './frame.ts';
import { LimitsStop, MAX_MACRO_NESTING, Refusal } from './limits.ts';
import { type Macro, nameHint, readMacro } from './names.ts';
import { checkedInt, negate, not, OPERATORS } from './operators.ts';
import {
  index,
  itemAt,
  itemsOf,
  keysOf,
  label,
  lift,
  MadeList,
  MadeMap,
  select,
  TYPE_NAMES,
  type TypeName,
  TypeValue,
  type Value,
} from './value.ts';

/**
 * Turns the syntax tree into closures, once for each expression. Depth is bounded by the parser's limits. The library's
 * own evaluator is not used: its work and memory cannot be bounded (docs/decisions/cel.md).
 */
export function compile(node: ASTNode, scope: FrameScope): FrameRun {
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
  (value: Value): FrameRun =>
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

function compileName(name: string, at: number, scope: FrameScope): FrameRun {
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

const noSuchName = (name: string, { context }: CelFrame) =>
  new LimitsStop('no_such_name', `Unknown name "${name}".`, () =>
    nameHint(name, Object.keys(context).slice(0, MAX_NAMES_SHOWN)),
  );

function compileUnary(of: ASTNode, at: number, scope: FrameScope, apply: (value: Value) => Value): FrameRun {
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
  scope: FrameScope,
  apply: (a: Value, b: Value, frame: CelFrame) => Value,
): FrameRun {
  const runLeft = compile(left, scope);
  const runRight = compile(right, scope);
  return (frame) => {
    const a = runLeft(frame);
    const b = runRight(frame);
    begin(frame, at);
    return apply(a, b, frame);
  };
}

function compileList(elements: readonly ASTNode[], scope: FrameScope): FrameRun {
  const runs = elements.map((element) => compile(element, scope));
  return (frame) => {
    frame.budget.spend(1 + runs.length);
    return new MadeList(runs.map((run) => run(frame)));
  };
}

function compileMap(entries: readonly (readonly [ASTNode, ASTNode])[], scope: FrameScope): FrameRun {
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
        throw new LimitsStop(
          'wrong_type',
          `A map has ${label(name)} as a key.`,
          'Keys are strings; write {"name": value}.',
        );
      made.set(name, value(frame));
    }
    return new MadeMap(made);
  };
}

function compileTernary([test, yes, no]: readonly [ASTNode, ASTNode, ASTNode], scope: FrameScope): FrameRun {
  const runTest = compile(test, scope);
  const runYes = compile(yes, scope);
  const runNo = compile(no, scope);
  return (frame) => (asBool(runTest(frame), frame, test.start, '"?:"') ? runYes(frame) : runNo(frame));
}

/** `||` and `&&`: one side that decides is enough, even where the other fails. */
function compileLogic(
  [left, right]: readonly [ASTNode, ASTNode],
  decisive: boolean,
  scope: FrameScope,
): FrameRun {
  const runLeft = compile(left, scope);
  const runRight = compile(right, scope);
  const sign = decisive ? '"||"' : '"&&"';
  return (frame) => {
    const first = attempt(() => asBool(runLeft(frame), frame, left.start, sign), frame);
    if (first === decisive) return decisive;
    const second = asBool(runRight(frame), frame, right.start, sign);
    if (second === decisive || !(first instanceof LimitsStop)) return second;
    throw first;
  };
}

function compileMacro(macro: Macro, node: ASTNode, scope: FrameScope): FrameRun {
  const over = scope.compile(macro.over, scope);
  const iterates = macro.name !== 'bind';
  if (iterates && scope.nesting === MAX_MACRO_NESTING) throw tooNested(node);
  const slot = scope.taken;
  const inside: FrameScope = {
    ...scope,
    slots: new Map(scope.slots).set(macro.variable, slot),
    taken: slot + 1,
    nesting: scope.nesting + (iterates ? 1 : 0),
  };
  const bodies = macro.bodies.map((body) => scope.compile(body, inside));
  const [first, second] = bodies as [FrameRun, FrameRun | undefined];
  const bodyAt = macro.bodies[0]?.start ?? node.start;
  const holds = (frame: CelFrame) => asBool(first(frame), frame, bodyAt, `${macro.name}()`);
  switch (macro.name) {
    case 'bind':
      return (frame) => {
        frame.locals[slot] = over(frame);
        return first(frame);
      };
    case 'all':
      return (frame) => decide(frame, elements(over, node, frame), slot, false, holds);
    case 'exists':
      return (frame) => decide(frame, elements(over, node, frame), slot, true, holds);
    case 'exists_one':
      return (frame) => {
        let found = 0;
        each(frame, elements(over, node, frame), slot, () => {
          if (holds(frame)) found++;
        });
        return found === 1;
      };
    case 'filter':
      return (frame) => {
        const kept: Value[] = [];
        each(frame, elements(over, node, frame), slot, (item) => {
          if (holds(frame)) kept.push(item);
        });
        return new MadeList(kept);
      };
    case 'map':
      return (frame) => {
        const made: Value[] = [];
        each(frame, elements(over, node, frame), slot, () => {
          if (second === undefined) made.push(first(frame));
          else if (holds(frame)) made.push(second(frame));
        });
        return new MadeList(made);
      };
  }
}

/** What a macro runs over: the elements of a list, the keys of a map. */
interface CompileElements {
  readonly of: Value;
  readonly items: readonly unknown[];
}

function elements(over: FrameRun, node: ASTNode, frame: CelFrame): CompileElements {
  const of = over(frame);
  const items = itemsOf(of);
  if (items !== undefined) return { of, items };
  const keys = keysOf(of);
  if (keys !== undefined) return { of: new MadeList(keys), items: keys };
  frame.at = node.start;
  throw new LimitsStop(
    'wrong_type',
    `A macro was asked to run over ${label(of)}.`,
    'It takes a list, or a map for its keys.',
  );
}

function each(
  frame: CelFrame,
  { of, items }: CompileElements,
  slot: number,
  visit: (item: Value) => void,
): void {
  for (let i = 0; i < items.length; i++) {
    frame.budget.spend(1);
    const item = itemAt(of, items, i);
    frame.locals[slot] = item;
    visit(item);
  }
}

/** `exists` (decisive: true) and `all` (decisive: false): one element that decides is enough, even where others fail. */
function decide(
  frame: CelFrame,
  { of, items }: CompileElements,
  slot: number,
  decisive: boolean,
  holds: (frame: CelFrame) => boolean,
): boolean {
  let failed: LimitsStop | undefined;
  for (let i = 0; i < items.length; i++) {
    frame.budget.spend(1);
    frame.locals[slot] = itemAt(of, items, i);
    const outcome = attempt(() => holds(frame), frame);
    if (outcome === decisive) return decisive;
    if (outcome instanceof LimitsStop) failed ??= outcome;
  }
  if (failed !== undefined) throw failed;
  return !decisive;
}

const tooNested = (node: ASTNode) =>
  new Refusal(
    'too_complex',
    `Macros are nested more than ${MAX_MACRO_NESTING} deep.`,
    node.start,
    'Compute a part beforehand, in a variable or a step.',
  );
