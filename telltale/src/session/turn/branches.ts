import { evaluateTest } from '../../conditions/cel/evaluate.ts';
import { parseExpression } from '../../conditions/cel/parse-expression.ts';
import { added, NONE, withoutLast } from '../../kernel/grow.ts';

/** Which of the `<if>`s that are open hold. What stands in a branch that does not hold counts for nothing. */
export interface Branches {
  /** Whether all of them hold. */
  live: boolean;
  /** For each open `<if>`: whether its branch counts, and whether the other one would. */
  stack: readonly { live: boolean; readonly other: boolean }[];
}

export const createBranches = (): Branches => ({ live: true, stack: NONE });

/** For the next turn: an `<if>` that was not closed ends with its own. */
export function renewBranches(branches: Branches): void {
  branches.live = true;
  branches.stack = NONE;
}

/** `decide` is asked only where the `<if>` itself counts. */
export function openBranch(branches: Branches, decide: () => boolean): void {
  const held = branches.live && decide();
  branches.stack = added(branches.stack, { live: held, other: branches.live && !held });
  branches.live = held;
}

export function otherBranch(branches: Branches): void {
  const top = branches.stack.at(-1);
  if (top === undefined) return;
  top.live = top.other;
  branches.live = top.live;
}

export function closeBranch(branches: Branches): void {
  branches.stack = withoutLast(branches.stack);
  branches.live = branches.stack.every(({ live }) => live);
}

/** What the test of an `<if>` comes to; one that cannot be read or decided does not hold, and says why. */
export function decideTest(
  test: string,
  context: () => Readonly<Record<string, unknown>>,
): { readonly held: boolean; readonly problem?: string } {
  const parsed = parseExpression(test);
  if (!parsed.ok) return { held: false, problem: parsed.error.message };
  const held = evaluateTest(parsed.value, context());
  return held.ok ? { held: held.value } : { held: false, problem: held.error.message };
}
