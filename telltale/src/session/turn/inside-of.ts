import type { TurnRecord } from '../../events/turn-record.ts';
import { NONE } from '../../kernel/grow.ts';
import { goesOn } from '../../prompt/calls/said-before.ts';
import { type InsideIf, openIfs } from '../../protocol/tags/open-ifs.ts';
import { type Branches, closeBranch, goOnInside, openBranch, otherBranch } from './branches.ts';
import { createTurnParser, type Told } from './turn-parser.ts';

/** An `<if>` that was open where a turn was cut short, and which of its branches hold. */
export interface Inside extends InsideIf {
  readonly other: boolean;
}

/**
 * The `<if>`s that the turn in hand, which has begun, goes on inside of: those that were open where the turn before it was
 * cut short, over all restarts. What they came to is on the log; the log may end in a branch that does not hold.
 */
export function insideOf(context: Told): readonly Inside[] {
  const { turns } = context.state;
  if (context.calls !== undefined) return NONE;
  let first = turns.length - 1;
  for (let turn = turns[first]; first > 0 && turn !== undefined && goesOn(turn); turn = turns[first]) first--;
  if (first === turns.length - 1) return NONE;
  let inside: readonly Inside[] = NONE;
  for (const turn of turns.slice(first, -1)) inside = insideBehind(context, turn, inside);
  return inside;
}

/** The `<if>`s that are open behind a turn that was cut short, and had itself begun inside of some. */
function insideBehind(context: Told, turn: TurnRecord, before: readonly Inside[]): readonly Inside[] {
  if (turn.output === '') return before;
  const events = createTurnParser(context, new Set(), before).push(turn.output);
  const branches: Branches = { branchHolds: true, openIfs: NONE };
  goOnInside(branches, before);
  let decided = 0;
  for (const event of events) {
    if (event.type !== 'if') continue;
    if (event.body === 'else') otherBranch(branches);
    else if (event.body === 'close') closeBranch(branches);
    else openBranch(branches, () => turn.ifs?.[decided++] ?? undefined);
  }
  const { openIfs: held } = branches;
  return openIfs(events, before).map((open, at) => ({
    ...open,
    live: held[at]?.live === true,
    other: held[at]?.other === true,
  }));
}
