import type { ASTNode } from '@marcbachmann/cel-js';
import type { Run } from './frame.ts';

/** Where a node stands while it is compiled. */
export interface Scope {
  /** The variables that macros around it bind, and the slots of `Frame.locals` they live in. */
  readonly slots: ReadonlyMap<string, number>;
  /** How many slots are taken: more than there are names where one shadows another. */
  readonly taken: number;
  /** Macros that iterate around it. */
  readonly nesting: number;
  /** Compiles a node below this one. */
  readonly compile: (node: ASTNode, scope: Scope) => Run;
}
