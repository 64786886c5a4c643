import type { TurnRecord } from '../../events/turn-record.ts';
import { NONE } from '../../kernel/grow.ts';
import { goesOn } from '../../prompt/calls/said-before.ts';
import { openIfs } from '../../protocol/tags/open-ifs.ts';
import { type Branches, closeBranch, goOnInside, openBranch, otherBranch } from './branches.ts';
import { followGroups, type Groups } from './groups.ts';
import { type Inside, OUTSIDE } from './inside.ts';
import { createTagTurnParser, endLine, type Told } from './turn-parser.ts';

/**
 * What the turn in hand, which has begun, goes on inside of: what was open where the turn before it was cut short, over all
 * restarts. What its `<if>`s came to is on the log.
 */
export function insideOf(context: Told): Inside {
  const { turns } = context.state;
  if (context.calls !== undefined) return OUTSIDE;
  let first = turns.length - 1;
  for (let turn = turns[first]; first > 0 && turn !== undefined && goesOn(turn); turn = turns[first]) first--;
  if (first === turns.length - 1) return OUTSIDE;
  let inside = OUTSIDE;
  for (const turn of turns.slice(first, -1)) inside = insideBehind(context, turn, inside);
  return inside;
}

/** What is open behind a turn that was cut short, and had itself begun inside of something. */
function insideBehind(context: Told, turn: TurnRecord, before: Inside): Inside {
  if (turn.output === '') return before;
  const parser = createTagTurnParser(context, new Set(), before);
  const events = [...parser.push(turn.output), ...endLine(parser)];
  const branches: Branches = { branchHolds: true, openIfs: NONE };
  goOnInside(branches, before.ifs);
  const groups: Groups = { groups: NONE, parallels: 0, emptyGroups: before.emptyGroups };
  let decided = 0;
  for (const event of events) {
    if (event.type !== 'if') {
      if (branches.branchHolds) followGroups(groups, event, turn.turn);
    } else if (event.body === 'else') otherBranch(branches);
    else if (event.body === 'close') closeBranch(branches);
    else openBranch(branches, () => turn.ifs?.[decided++] ?? undefined);
  }
  const { openIfs: held } = branches;
  const ifs = openIfs(events, before.ifs).map((open, at) => ({
    ...open,
    live: held[at]?.live === true,
    other: held[at]?.other === true,
  }));
  // What is said next is in none that was open: that was closed.
  const emptyGroups = groups.emptyGroups.filter((id) => !groups.groups.includes(id));
  return { ifs, doubt: parser.inDoubt(), emptyGroups };
}
