import { wasCutShort } from '../../events/fold-turns.ts';
import type { TurnRecord } from '../../events/turn-record.ts';
import { NOBODY, NONE } from '../../kernel/grow.ts';
import type { ParserEvent } from '../../protocol/intents.ts';
import { openElements } from '../../protocol/tags/open-elements.ts';
import type { SessionContext } from '../context.ts';
import { takenIds } from '../taken-ids.ts';
import { type Branches, closeBranch, goOnInside, openBranch, otherBranch } from './branches.ts';
import { loopNotMade } from './declare.ts';
import { createGroups, followGroups, goOnInGroups } from './groups.ts';
import { groupsOf, type Inside, ifsOf, OUTSIDE } from './inside.ts';
import { createTagTurnParser, endLine } from './turn-parser.ts';

/**
 * What the turn in hand, which has begun, goes on inside of: what was open where the turn before it was cut short, over all
 * restarts. What its `<if>`s came to is on the log.
 */
export function insideOf(context: SessionContext): Inside {
  const { turns } = context.state;
  if (context.calls !== undefined) return OUTSIDE;
  let first = turns.length - 1;
  for (let turn = turns[first]; first > 0 && turn !== undefined && wasCutShort(turn); turn = turns[first])
    first--;
  if (first === turns.length - 1) return OUTSIDE;
  let inside = OUTSIDE;
  for (const turn of turns.slice(first, -1)) inside = insideBehind(context, turn, inside, turn.ifs);
  return inside;
}

/**
 * What is open behind what is on the log, where the model goes on with that: behind the turn that the process died with, or
 * one that was cut short. `kept`: how many characters of it stand, where not all do.
 */
export function insideNow(context: SessionContext, kept?: number): Inside {
  const { state, calls } = context;
  const last = state.turns.at(-1);
  if (calls !== undefined || last === undefined || !(state.turnOpen || wasCutShort(state))) return OUTSIDE;
  const ifs = state.turnOpen ? state.signs.ifs : last.ifs;
  const stands = { ...last, output: last.output.slice(0, kept) };
  return insideBehind(context, stands, insideOf(context), ifs);
}

/** The `<parallel>`s that are open there. */
export const openGroups = (context: SessionContext, kept?: number): readonly string[] =>
  groupsOf(insideNow(context, kept));

/** How a turn that is cut short says how much of it stands, and what it is gone on in. */
export function goneOnIn(
  context: SessionContext,
  cut: { readonly kept?: number },
): { readonly kept?: number; readonly groups?: readonly string[] } {
  const groups = openGroups(context, cut.kept);
  return groups.length === 0 ? cut : { ...cut, groups };
}

type Asked = Extract<ParserEvent, { readonly type: 'action' | 'foreach' }>;

/** What is open behind a turn that was cut short, and had itself begun inside of something. */
function insideBehind(
  context: SessionContext,
  turn: TurnRecord,
  before: Inside,
  ifs: TurnRecord['ifs'],
): Inside {
  if (turn.output === '') return before.closed.length === 0 ? before : { ...before, closed: NONE };
  // Read as it was then: a `<parallel>` whose id was taken has none.
  const parser = createTagTurnParser(context, takenIds(context.state, turn.turn), before);
  const events: readonly ParserEvent[] = [...parser.push(turn.output), ...endLine(parser)];
  const branches: Branches = { branchHolds: true, openIfs: NONE };
  goOnInside(branches, ifsOf(before));
  const groups = createGroups();
  goOnInGroups(groups, before);
  const closed: string[] = [];
  const asked: Asked[] = [];
  let decided = 0;
  for (const event of events) {
    if (event.type !== 'if') {
      if (!branches.branchHolds) continue;
      if (event.type === 'parallel' && event.body === 'close' && event.left === undefined)
        closed.push(...groups.groups.slice(-1));
      followGroups(groups, event, turn.turn);
      if (event.type === 'action' || event.type === 'foreach') asked.push(event);
    } else if (event.body === 'else') otherBranch(branches);
    else if (event.body === 'close') closeBranch(branches);
    else openBranch(branches, () => ifs?.[decided++] ?? undefined);
  }
  const book = parser.book();
  for (const id of neverBegun(context, asked, turn.turn)) book.ids.delete(id);
  const held = [...branches.openIfs];
  const open = [...groups.groups];
  const elements = openElements(events, before.elements).map((element) => {
    if (element.name === 'parallel') {
      const { name, id } = element;
      // One in a branch that does not hold is of no group.
      return { name, id, live: true, group: open.shift() ?? '' } as const;
    }
    const { name, test, inElse } = element;
    const branch = held.shift();
    return { name, test, inElse, live: branch?.live === true, other: branch?.other === true };
  });
  const { emptyGroups = NOBODY, parallels } = groups;
  return { elements, doubt: parser.inDoubt(), emptyGroups, parallels, book, closed };
}

/** The ids of what the process died before it could begin: the model is told, and may ask for it again under any. */
function neverBegun(context: SessionContext, asked: readonly Asked[], turn: number): readonly string[] {
  const { toAction } = context.edges.prepared;
  const taken = takenIds(context.state, turn + 1); // what goes on with it may have asked for it again
  return asked.flatMap((event) => {
    const actions = event.type === 'action' ? [event] : event.actions;
    const made = actions.map((action) => toAction(action, NONE));
    const isMade =
      event.type === 'action' ? made.every(({ ok }) => ok) : loopNotMade(context, made) === undefined;
    return isMade && !actions.some(({ id }) => taken.has(id)) ? actions.map(({ id }) => id) : [];
  });
}
