import type { ASTNode } from '@marcbachmann/cel-js';
import type { PathSegment } from '../issue.ts';
import { readMacro } from './macro.ts';

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
