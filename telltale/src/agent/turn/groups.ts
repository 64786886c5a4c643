import { quote } from '../../expressions/issue.ts';
import { type DeclaredAction, writtenId } from '../../log/action.ts';
import type { EventBody } from '../../log/event.ts';
import type { FaultCode, ParserEvent } from '../../parser/intents.ts';
import { leftOpen } from '../../parser/tags/faults.ts';
import type { FaultBody } from '../../scheduler/faults.ts';

/** What is around it ended: all that stood in it has been read. */
const ENDED_BY_ANOTHER = leftOpen('parallel').message;

/** Whether a `<parallel>` is closed behind it that has no end tag, but what follows it. */
export const closesWithoutTag = ({ message }: { readonly message: string }): boolean =>
  message === ENDED_BY_ANOTHER;

/**
 * The event of a fault, with the `<parallel>`s that it stands in where it kept something from acting and none before it did.
 * Who depends on one of them means all that was asked for there, and must not begin because the rest succeeded.
 */
export function faultWithGroups(
  within: Pick<Groups, 'groups' | 'invalidated'>,
  { code, message }: { readonly code: string; readonly message: string },
): FaultBody {
  const { groups, invalidated } = within;
  const isWhole =
    groups.length === invalidated ||
    message === ENDED_BY_ANOTHER ||
    preventedActions([{ code }]).length === 0;
  if (isWhole) return { type: 'fault', code, message };
  within.invalidated = groups.length;
  return { type: 'fault', code, message, groups: groups.slice(invalidated) };
}

/** The `<parallel>`s of a turn. */
export interface Groups {
  /** Those that are open, innermost last; one without an id gets one that no model can write. */
  groups: readonly string[];
  /** How many of them, from the outermost on, a fault has named already: whatever they are part of is told once. */
  invalidated: number;
  parallels: number;
  /**
   * Those in which nothing was asked for. The log knows of a group by its actions: of these it does not. Made for the first;
   * of those without an id only the open ones, as nobody can depend on another.
   */
  emptyGroups: Set<string> | undefined;
}

export const createGroups = (): Groups => ({
  groups: [],
  invalidated: 0,
  parallels: 0,
  emptyGroups: undefined,
});

const unnamed = (turn: number, nth: number): string => `parallel:${turn}.${nth}`;
const isUnnamed = (group: string): boolean => group.includes(':');

/** `id`: what it is known by on the log, where it has one. */
export function openGroup(groups: Groups, id: string | undefined, turn: number): void {
  groups.parallels++;
  const group = id ?? unnamed(turn, groups.parallels);
  groups.groups = [...groups.groups, group];
  groups.emptyGroups ??= new Set();
  groups.emptyGroups.add(group);
}

/** Whether nothing was asked for in the innermost. */
export const isEmpty = ({ groups, emptyGroups }: Groups): boolean =>
  emptyGroups?.has(groups.at(-1) ?? '') === true;

/** The one that is closed. */
export function closeGroup(groups: Groups): string | undefined {
  const group = groups.groups.at(-1);
  groups.groups = groups.groups.slice(0, -1);
  groups.invalidated = Math.min(groups.invalidated, groups.groups.length);
  if (group !== undefined && isUnnamed(group)) groups.emptyGroups?.delete(group);
  return group;
}

/** Something was asked for, be it in vain: who waits for the groups that are open must not begin as if nothing had been. */
export function markGroupsUsed({ groups, emptyGroups }: Groups): void {
  if (emptyGroups === undefined) return;
  // What is around one that is not empty is not, either.
  for (let at = groups.length - 1; at >= 0 && emptyGroups.delete(groups[at] ?? ''); at--);
}

/**
 * The same for an event of a turn that is read again. `idOf` gives what the nth `<parallel>` of the turn, written with that
 * id, was known by; undefined where the id was taken.
 */
export function replayGroups(
  groups: Groups,
  event: ParserEvent,
  turn: number,
  idOf: (written: string, unnamed: string) => string | undefined,
): void {
  if (event.type === 'parallel' && event.body === 'open')
    openGroup(groups, event.id && idOf(event.id, unnamed(turn, groups.parallels + 1)), turn);
  else if (event.type === 'parallel') closeGroup(groups);
  else if (requestsWork(event)) markGroupsUsed(groups);
}

/** Whether it asks for something, be it in vain. */
const requestsWork = (event: ParserEvent): boolean =>
  event.type === 'action' ||
  event.type === 'foreach' ||
  (event.type === 'fault' && preventedActions([event]).length > 0);

/** All of nothing has succeeded: empty groups are not waited for. */
export function withoutEmptyGroups({ emptyGroups }: Groups, action: DeclaredAction): DeclaredAction {
  const { depends_on: needs } = action;
  if (emptyGroups === undefined || needs === undefined) return action;
  const empty = new Set([...emptyGroups].map(writtenId));
  return needs.some((id) => empty.has(id))
    ? { ...action, depends_on: needs.filter((id) => !empty.has(id)) }
    : action;
}

/** Which of the `<if>`s that are open hold. What stands in a branch that does not hold counts for nothing. */
export interface Branches {
  /** Whether all of them hold. */
  branchHolds: boolean;
  /** For each open `<if>`: whether its branch counts, and whether the other one would. */
  openIfs: readonly { live: boolean; readonly other: boolean }[];
}

/** `decide` is asked only where the `<if>` itself counts; undefined: nobody knows, and neither branch counts. */
export function openBranch(branches: Branches, decide: () => boolean | undefined): void {
  const held = branches.branchHolds ? decide() : undefined;
  const live = held === true;
  branches.openIfs = [...branches.openIfs, { live, other: held === false }];
  branches.branchHolds = live;
}

export function elseBranch(branches: Branches): void {
  const top = branches.openIfs.at(-1);
  if (top === undefined) return;
  top.live = top.other;
  branches.branchHolds = top.live;
}

export function closeBranch(branches: Branches): void {
  branches.openIfs = branches.openIfs.slice(0, -1);
  branches.branchHolds = branches.openIfs.every(({ live }) => live);
}

export const badTest = (test: string, problem: string): Extract<EventBody, { type: 'fault' }> => ({
  type: 'fault',
  code: 'bad_test',
  message: `The test ${quote(test)} of an <if> could not be decided, so nothing in it counts, on either side of an <else/>. ${problem}`,
});

/**
 * Whether a fault may mean that something which was to act did not: an action, metadata, a control tag or a variable.
 * The others are about prose, which has been said as it was written. A code that can mean both, such as `no_body`
 * (`<action>` with no JSON behind it), counts: one more turn costs less than an action that nobody misses.
 */
const PREVENTS_ACTION = {
  no_body: true,
  tag_too_long: true,
  not_here: true,
  truncated: true,
  bad_json: true,
  body_too_large: true,
  bad_action: true,
  bad_attribute: true,
  duplicate_id: true,
  in_doubt: true,
  unsealed: true,
  bad_variable: true,
  bad_test: true,
  fence_left_open: false,
  not_in_response: false,
  stray_close: false,
  thought_left_open: false,
  reserved_tag: false,
} as const satisfies Record<FaultCode | 'bad_variable' | 'bad_test', boolean>;

/** The codes among these, each once. */
export function preventedActions(faults: readonly { readonly code: string }[]): readonly string[] {
  if (faults.length === 0) return [];
  const codes = faults.flatMap(({ code }) => (preventsAction(code) ? [code] : []));
  return [...new Set(codes)];
}

const preventsAction = (code: string): boolean =>
  Object.hasOwn(PREVENTS_ACTION, code) && PREVENTS_ACTION[code as keyof typeof PREVENTS_ACTION];
