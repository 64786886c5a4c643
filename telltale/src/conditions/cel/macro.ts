import type { ASTNode } from '@marcbachmann/cel-js';

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
