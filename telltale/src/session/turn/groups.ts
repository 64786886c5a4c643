import type { DeclaredAction } from '../../events/action.ts';
import { writtenId } from '../../events/action-id.ts';
import { added, NONE, withoutLast } from '../../kernel/grow.ts';
import type { ParserEvent } from '../../protocol/intents.ts';
import { keptFromActing } from './kept-from-acting.ts';

/** The `<parallel>`s of a turn. */
export interface Groups {
  /** Those that are open, innermost last; one without an id gets one that no model can write. */
  groups: readonly string[];
  /** How many of them, from the outermost on, a fault has named already: whatever they are part of is told once. */
  spoilt: number;
  parallels: number;
  /**
   * Those in which nothing was asked for. The log knows of a group by its actions: of these it does not. Made for the first;
   * of those without an id only the open ones, as nobody can depend on another.
   */
  emptyGroups: Set<string> | undefined;
}

export const createGroups = (): Groups => ({ groups: NONE, spoilt: 0, parallels: 0, emptyGroups: undefined });

export function renewGroups(groups: Groups): void {
  groups.groups = NONE;
  groups.spoilt = 0;
  groups.parallels = 0;
  groups.emptyGroups = undefined;
}

const unnamed = (turn: number, nth: number): string => `parallel:${turn}.${nth}`;
const isUnnamed = (group: string): boolean => group.includes(':');

/** `id`: what it is known by on the log, where it has one. */
export function openGroup(groups: Groups, id: string | undefined, turn: number): void {
  groups.parallels++;
  const group = id ?? unnamed(turn, groups.parallels);
  groups.groups = added(groups.groups, group);
  groups.emptyGroups ??= new Set();
  groups.emptyGroups.add(group);
}

/** Whether nothing was asked for in the innermost. */
export const isEmpty = ({ groups, emptyGroups }: Groups): boolean =>
  emptyGroups?.has(groups.at(-1) ?? '') === true;

/** The one that is closed. */
export function closeGroup(groups: Groups): string | undefined {
  const group = groups.groups.at(-1);
  groups.groups = withoutLast(groups.groups);
  groups.spoilt = Math.min(groups.spoilt, groups.groups.length);
  if (group !== undefined && isUnnamed(group)) groups.emptyGroups?.delete(group);
  return group;
}

/** Something was asked for, be it in vain: who waits for the groups that are open must not begin as if nothing had been. */
export function fillGroups({ groups, emptyGroups }: Groups): void {
  if (emptyGroups === undefined) return;
  // What is around one that is not empty is not, either.
  for (let at = groups.length - 1; at >= 0 && emptyGroups.delete(groups[at] ?? ''); at--);
}

/**
 * The same for an event of a turn that is read again. `idOf` gives what the nth `<parallel>` of the turn, written with that
 * id, was known by; undefined where the id was taken.
 */
export function followGroups(
  groups: Groups,
  event: ParserEvent,
  turn: number,
  idOf: (written: string, unnamed: string) => string | undefined,
): void {
  if (event.type === 'parallel' && event.body === 'open')
    openGroup(groups, event.id && idOf(event.id, unnamed(turn, groups.parallels + 1)), turn);
  else if (event.type === 'parallel') closeGroup(groups);
  else if (asksFor(event)) fillGroups(groups);
}

/** Whether it asks for something, be it in vain. */
const asksFor = (event: ParserEvent): boolean =>
  event.type === 'action' ||
  event.type === 'foreach' ||
  (event.type === 'fault' && keptFromActing([event]).length > 0);

/** All of nothing has succeeded: empty groups are not waited for. */
export function withoutEmpty({ emptyGroups }: Groups, action: DeclaredAction): DeclaredAction {
  const { depends_on: needs } = action;
  if (emptyGroups === undefined || needs === undefined) return action;
  const empty = new Set([...emptyGroups].map(writtenId));
  return needs.some((id) => empty.has(id))
    ? { ...action, depends_on: needs.filter((id) => !empty.has(id)) }
    : action;
}
