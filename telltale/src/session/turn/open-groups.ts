import type { SessionState } from '../../events/state.ts';
import { NONE } from '../../kernel/grow.ts';
import { isLoop, loopOf } from '../../scheduler/loops.ts';
import { insideOf } from './inside-of.ts';
import { createTagTurnParser, endLine, type Told } from './turn-parser.ts';

/**
 * The `<parallel>`s with an id that are open where what is on the log of the turn in hand ends: if it is cut short there,
 * nobody knows what else was to stand in them.
 */
export function openGroups(context: Told): readonly string[] {
  const { state, calls } = context;
  const known = groupsOf(state);
  if (calls !== undefined || known.size === 0) return NONE;
  const parser = createTagTurnParser(context, new Set(), insideOf(context));
  parser.push(state.turns.at(-1)?.output ?? '');
  endLine(parser);
  return parser.openGroups().filter((id) => known.has(id));
}

/** How an event names them. The log knows of a group by its actions: the id of one without any is free again. */
export function cutGroups(state: SessionState, open: readonly string[]): { groups?: readonly string[] } {
  if (open.length === 0) return {};
  const known = groupsOf(state);
  const groups = open.filter((id) => known.has(id));
  return groups.length === 0 ? {} : { groups };
}

/** Those of the turn in hand. */
function groupsOf({ actions, turn }: SessionState): ReadonlySet<string> {
  const found = new Set<string>();
  for (const known of actions.values()) {
    if (known.turn !== turn) continue;
    const { action } = known;
    for (const { group, within } of isLoop(action) ? loopOf(action).actions : [action]) {
      if (group !== undefined) found.add(group);
      for (const id of within ?? NONE) found.add(id);
    }
  }
  return found;
}
