import type { ASTNode } from '@marcbachmann/cel-js';
import { nearest, suggest } from '../../lib/nearest.ts';
import type { PathSegment } from '../issue.ts';

/** A name an expression reads from its context, as far into it as is plain: `a.b[0].c`, but `a` of `a[i]`. */
export interface NameUse {
  readonly root: string;
  readonly path: readonly PathSegment[];
  /** Where the root stands in the expression. */
  readonly offset: number;
}

/** The free names of `node`: those that no macro binds. In the order in which they stand. */
export function readNames(node: ASTNode, bound: ReadonlySet<string> = new Set()): NameUse[] {
  const chain = readChain(node);
  if (chain !== undefined) return bound.has(chain.root) ? [] : [chain];
  const macro = readMacro(node);
  if (macro !== undefined) {
    const inside = new Set(bound).add(macro.variable);
    return [...readNames(macro.over, bound), ...macro.bodies.flatMap((body) => readNames(body, inside))];
  }
  return childrenOf(node).flatMap((child) => readNames(child, bound));
}

/** Undefined where it is no plain path. */
export function readChain(node: ASTNode): NameUse | undefined {
  const path: PathSegment[] = [];
  let at = node;
  for (;;) {
    if (at.op === 'id') return { root: at.args, path: path.reverse(), offset: at.start };
    if (at.op === '.') {
      path.push(at.args[1]);
      at = at.args[0];
    } else if (at.op === '[]' && at.args[1].op === 'value') {
      const key = at.args[1].args;
      if (typeof key === 'string') path.push(key);
      else if (typeof key === 'bigint') path.push(Number(key));
      else return undefined;
      at = at.args[0];
    } else return undefined;
  }
}

/** The nodes directly under `node`. */
export function childrenOf(node: ASTNode): readonly ASTNode[] {
  switch (node.op) {
    case 'value':
    case 'id':
      return [];
    case '.':
    case '.?':
      return [node.args[0]];
    case 'call':
      return node.args[1];
    case 'rcall':
      return [node.args[1], ...node.args[2]];
    case 'map':
      return node.args.flat();
    case '!_':
    case '-_':
      return [node.args];
    default:
      return node.args;
  }
}

/** A call that binds a variable: it is expanded here, not called. */
export interface Macro {
  readonly name: 'all' | 'exists' | 'exists_one' | 'filter' | 'map' | 'bind';
  readonly variable: string;
  /** What is iterated over, or bound. */
  readonly over: ASTNode;
  /** What is evaluated with the variable in view: one expression, or a filter and a transformation. */
  readonly bodies: readonly ASTNode[];
}

const ITERATIONS: ReadonlyMap<string, readonly number[]> = new Map([
  ['all', [2]],
  ['exists', [2]],
  ['exists_one', [2]],
  ['filter', [2]],
  ['map', [2, 3]],
]);

/** Of the macros that go through a list. */
export const MACRO_NAMES: readonly string[] = [...ITERATIONS.keys()];

/** How a macro is written: what it takes, and an example of it; undefined for what is none. */
export function macroUse(name: string): { readonly takes: string; readonly hint: string } | undefined {
  if (name === 'bind')
    return {
      takes: 'cel.bind() takes a variable, its value, and the expression that it stands in.',
      hint: 'Write cel.bind(total, a + b, total > 3).',
    };
  if (name === 'map')
    return {
      takes:
        'map() takes a variable and what becomes of it, with a test between them where not all are wanted.',
      hint: 'Write list.map(item, item * 2), or list.map(item, item > 1, item * 2).',
    };
  if (!ITERATIONS.has(name)) return undefined;
  return { takes: `${name}() takes a variable and a test.`, hint: `Write list.${name}(item, item > 1).` };
}

/** The macro that `node` is; undefined for anything else, a macro with the wrong arguments included. */
export function readMacro(node: ASTNode): Macro | undefined {
  if (node.op !== 'rcall') return undefined;
  const [name, receiver, args] = node.args;
  const [variable, ...bodies] = args;
  if (variable?.op !== 'id') return undefined;
  if (name === 'bind' && isCel(receiver)) {
    const [over, body] = bodies;
    if (bodies.length !== 2 || over === undefined || body === undefined) return undefined;
    return { name, variable: variable.args, over, bodies: [body] };
  }
  if (ITERATIONS.get(name)?.includes(args.length) !== true) return undefined;
  return { name: name as Macro['name'], variable: variable.args, over: receiver, bodies };
}

/** The namespace that `bind` stands in. */
export const isCel = (receiver: ASTNode): boolean => receiver.op === 'id' && receiver.args === 'cel';

const WRITE_NULL = 'Write null, and test for a key that may be missing with has().';

/** Constants as other languages write them. */
const CONSTANTS: ReadonlyMap<string, string> = new Map([
  ['true', 'Write true.'],
  ['false', 'Write false.'],
  ['null', WRITE_NULL],
  ['none', WRITE_NULL],
  ['nil', WRITE_NULL],
  ['undefined', WRITE_NULL],
]);

const ALL_CAPITALS = /^[A-Z][A-Z0-9_]*$/;

/** What may have been meant by a name that there is not: the nearest, a constant, a text without its quotes. */
export function nameHint(name: string, known: readonly string[]): string {
  const constant = CONSTANTS.get(name.toLowerCase());
  if (constant !== undefined) return constant;
  if (ALL_CAPITALS.test(name) && nearest(name, known) === undefined)
    return `A text stands in quotes: "${name}".`;
  return suggest(name, known, 'Names');
}
