import { quote } from '../../conditions/issue.ts';
import type { EventBody } from '../../events/event.ts';
import { added, NONE, withoutLast } from '../../kernel/grow.ts';

/** Which of the `<if>`s that are open hold. What stands in a branch that does not hold counts for nothing. */
export interface Branches {
  /** Whether all of them hold. */
  branchHolds: boolean;
  /** For each open `<if>`: whether its branch counts, and whether the other one would. */
  openIfs: readonly { live: boolean; readonly other: boolean }[];
}

/** For the next turn: an `<if>` that was not closed ends with its own. */
export function renewBranches(branches: Branches): void {
  branches.branchHolds = true;
  branches.openIfs = NONE;
}

/** `decide` is asked only where the `<if>` itself counts; undefined: nobody knows, and neither branch counts. */
export function openBranch(branches: Branches, decide: () => boolean | undefined): void {
  const held = branches.branchHolds ? decide() : undefined;
  const live = held === true;
  branches.openIfs = added(branches.openIfs, { live, other: held === false });
  branches.branchHolds = live;
}

export function otherBranch(branches: Branches): void {
  const top = branches.openIfs.at(-1);
  if (top === undefined) return;
  top.live = top.other;
  branches.branchHolds = top.live;
}

export function closeBranch(branches: Branches): void {
  branches.openIfs = withoutLast(branches.openIfs);
  branches.branchHolds = branches.openIfs.every(({ live }) => live);
}

export const badTest = (test: string, problem: string): Extract<EventBody, { type: 'fault' }> => ({
  type: 'fault',
  code: 'bad_test',
  message: `The test ${quote(test)} of an <if> could not be decided, so nothing in it counts, on either side of an <else/>. ${problem}`,
});
