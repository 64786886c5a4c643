import { quote } from '../../conditions/issue.ts';
import type { EventBody } from '../../events/event.ts';
import { added, NONE, withoutLast } from '../../kernel/grow.ts';

/** Which of the `<if>`s that are open hold. What stands in a branch that does not hold counts for nothing. */
export interface Branches {
  /** Whether all of them hold. */
  live: boolean;
  /** For each open `<if>`: whether its branch counts, and whether the other one would. */
  stack: readonly { live: boolean; readonly other: boolean }[];
}

// A copy: docs/decisions/copies.md
export const createBranches = (): Branches => ({ ...{ live: true, stack: NONE } });

/** For the next turn: an `<if>` that was not closed ends with its own. */
export function renewBranches(branches: Branches): void {
  branches.live = true;
  branches.stack = NONE;
}

/** `decide` is asked only where the `<if>` itself counts; undefined: nobody knows, and neither branch counts. */
export function openBranch(branches: Branches, decide: () => boolean | undefined): void {
  const held = branches.live ? decide() : undefined;
  const live = held === true;
  branches.stack = added(branches.stack, { live, other: held === false });
  branches.live = live;
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

export const badTest = (test: string, problem: string): Extract<EventBody, { type: 'fault' }> => ({
  type: 'fault',
  code: 'bad_test',
  message: `The test ${quote(test)} of an <if> could not be decided, so nothing in it counts, on either side of an <else/>. ${problem}`,
});
