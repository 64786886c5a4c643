import { NONE } from '../../kernel/grow.ts';
import type { ParserEvent } from '../../protocol/intents.ts';
import type { SessionContext } from '../context.ts';
import { takenIds } from '../taken-ids.ts';
import { type Branches, closeBranch, goOnInside, openBranch, otherBranch } from './branches.ts';
import { createDeciding, type Deciding } from './decide-if.ts';
import { asksFor } from './groups.ts';
import { groupsOf, type Inside, ifsOf } from './inside.ts';
import { insideOf } from './inside-of.ts';
import { createTagTurnParser, endLine } from './turn-parser.ts';

/**
 * How many characters of the turn in hand stand where it is cut short, if not all do: those up to a branch that does not
 * hold, to a tag, an action or code that was not finished, to a `<foreach>`, which is done at its end, to a response that was
 * not closed, in which others quote what must not act, or to a `<parallel>` in which nothing was asked for, answered or
 * declared yet. Nothing of what was said there has come to anything, but for
 * prose. A model that goes on word for word says it again, and it is read whole; one that begins anew is outside, and all
 * that it says counts.
 */
export function cutBack(
  context: SessionContext,
  deciding = createDeciding(context),
): { readonly kept?: number } {
  const inside = insideOf(context);
  const output = context.state.turns.at(-1)?.output ?? '';
  let kept = output.length;
  // What is cut away may have closed something: that stands open again, and may have to go as well.
  for (let left = -1; left !== kept; ) {
    left = kept;
    kept = whatStands(context, inside, deciding, output.slice(0, kept));
  }
  return kept < output.length ? { kept } : {};
}

function whatStands(context: SessionContext, inside: Inside, deciding: Deciding, output: string): number {
  const { state, calls } = context;
  if (calls !== undefined) return output.length;
  const parser = createTagTurnParser(context, takenIds(state, state.turn), inside);
  const branches: Branches = { branchHolds: true, openIfs: NONE };
  const ifs = ifsOf(inside);
  goOnInside(branches, ifs);
  /** Of each open `<if>`: where what does not hold of it began, if its branch in hand does not hold. */
  const began = ifs.map(() => 0);
  const parallels = groupsOf(inside).map(() => ({ at: 0, isEmpty: false }));
  let tagAt = 0;
  let foreachAt = 0;
  let codeAt = 0;
  /** Of a response that is open: where it began, unless something in it has acted. */
  let responseAt: number | undefined;
  let open = parser.unfinished();
  const read = (events: readonly ParserEvent[]) => {
    for (const event of events) {
      if (event.type === 'parallel' && event.body === 'open') parallels.push({ at: tagAt, isEmpty: true });
      else if (event.type === 'parallel') parallels.pop();
      else if (counts(event) && branches.branchHolds) for (const group of parallels) group.isEmpty = false;
      if (event.type === 'open' && event.tag === 'response') responseAt = tagAt;
      else if (event.type === 'close' || (counts(event) && branches.branchHolds)) responseAt = undefined;
      if (event.type !== 'if') continue;
      if (event.body === 'close') {
        began.pop();
        closeBranch(branches);
      } else if (event.body === 'else') {
        // Of a test that could not be decided neither branch holds: there is nothing between the two.
        if (branches.branchHolds) began[began.length - 1] = tagAt;
        otherBranch(branches);
      } else {
        began.push(tagAt);
        openBranch(branches, () => decide(event.test));
      }
    }
  };
  let asked = 0;
  const decide = (test: string): boolean | undefined => {
    const nth = asked++;
    const known = state.signs.ifs[nth];
    if (known !== undefined) return known ?? undefined;
    const { held, problem } = deciding(nth, test);
    return problem === undefined ? held : undefined;
  };
  for (const { index: at, 0: piece } of output.matchAll(PIECE)) {
    if (!open.tag) tagAt = at;
    read(parser.push(piece));
    const now = parser.unfinished();
    if (now.foreach && !open.foreach) foreachAt = tagAt;
    if (now.code && !open.code) codeAt = tagAt;
    open = now;
  }
  read(endLine(parser));
  const { foreach, code, tag } = parser.unfinished();
  const dead = branches.openIfs.findIndex(({ live }) => !live);
  return Math.min(
    began[dead] ?? output.length,
    parallels.find(({ isEmpty }) => isEmpty)?.at ?? output.length,
    responseAt ?? output.length,
    foreach ? foreachAt : output.length,
    code ? codeAt : output.length,
    tag ? tagAt : output.length,
  );
}

/** Something was asked for, answered (in an `<if>` a response may stand in a `<parallel>`) or declared, on which tests turn. */
const counts = (event: ParserEvent): boolean =>
  asksFor(event) || event.type === 'metadata' || (event.type === 'close' && event.tag === 'response');

/** No piece has more than one tag or run that may begin code, and that begins it. */
const PIECE = /<[^<`~]*|`+|~+|[^<`~]+/g;
