import type { ASTNode } from '@marcbachmann/cel-js';
import { type Budget, LimitsStop } from './limits.ts';
import { label, type Value } from './value.ts';

/** Where a node stands while it is compiled. */
export interface FrameScope {
  /** The variables that macros around it bind, and the slots of `Frame.locals` they live in. */
  readonly slots: ReadonlyMap<string, number>;
  /** How many slots are taken: more than there are names where one shadows another. */
  readonly taken: number;
  /** Macros that iterate around it. */
  readonly nesting: number;
  /** Compiles a node below this one. */
  readonly compile: (node: ASTNode, scope: FrameScope) => FrameRun;
}

/** What one evaluation carries. */
export interface CelFrame {
  readonly context: Readonly<Record<string, unknown>>;
  /** Values of the variables that macros bind, by slot. */
  readonly locals: Value[];
  readonly budget: Budget;
  /** Offset of the operation under way: where an error points. Cheaper than a `try` in every node. */
  at: number;
}

/** A node made ready to run. */
export type FrameRun = (frame: CelFrame) => Value;

/** Pays for one node and says where it stands. */
export function begin(frame: CelFrame, at: number): void {
  frame.at = at;
  frame.budget.spend(1);
}

/** A throw and a catch take about as long as ten nodes. */
const FAILURE_COST = 10;

/** What `run` gives, or the Stop it ended with; a spent budget ends everything. */
export function attempt<T>(run: () => T, frame: CelFrame): T | LimitsStop {
  try {
    return run();
  } catch (thrown) {
    if (!(thrown instanceof LimitsStop) || thrown.fatal) throw thrown;
    thrown.offset ??= frame.at;
    frame.budget.spend(FAILURE_COST);
    return thrown;
  }
}

export function asBool(value: Value, frame: CelFrame, at: number, by: string): boolean {
  frame.budget.spend(1);
  if (typeof value === 'boolean') return value;
  frame.at = at;
  throw new LimitsStop(
    'wrong_type',
    `${by} needs true or false and found ${label(value)}.`,
    'Compare it: x == "…", x > 0.',
  );
}
