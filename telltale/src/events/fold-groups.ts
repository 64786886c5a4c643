import { added, NONE } from '../kernel/grow.ts';
import { type DeclaredAction, isShown } from './action.ts';
import type { SessionState } from './state.ts';

/** A fault kept something in these `<parallel>`s from acting: what depends on one of them is skipped. */
export function spoilGroups({ signs }: SessionState, groups: readonly string[]): void {
  for (const group of groups) signs.spoilt = added(signs.spoilt ?? NONE, group); // some may be there: a turn names each once
}

/** Of a turn that is over: a group of which no action came to be is forgotten, and its id is free again. */
export function settleGroups(state: SessionState): void {
  const { spoilt } = state.signs;
  if (spoilt === undefined) return;
  delete state.signs.spoilt;
  const known = new Set<string>();
  for (const { action } of state.actions.values()) for (const group of groupsOf(action)) known.add(group);
  const lasting = [...new Set(spoilt)].filter((group) => known.has(group));
  if (lasting.length > 0) state.spoilt = [...(state.spoilt ?? NONE), ...lasting];
}

/** Whether something in it was kept from acting. */
export const isSpoilt = ({ spoilt, signs }: SessionState, group: string): boolean =>
  spoilt?.includes(group) === true || signs.spoilt?.includes(group) === true;

/** The `<parallel>`s that an action stands in, or those that a `<foreach>` is going to make. */
function* groupsOf(action: DeclaredAction): Iterable<string> {
  if (action.group !== undefined) yield action.group;
  if (action.within !== undefined) yield* action.within;
  const { actions } = action.parameters;
  if (!isShown(action) && Array.isArray(actions))
    for (const made of actions as unknown as readonly DeclaredAction[]) yield* groupsOf(made);
}
