import { NONE } from '../../kernel/grow.ts';
import type { SessionContext } from '../context.ts';
import { type Branches, closeBranch, goOnInside, openBranch, otherBranch } from './branches.ts';
import { decideIf } from './decide-if.ts';
import { type Inside, insideOf } from './inside-of.ts';
import { createTurnParser } from './turn-parser.ts';

/**
 * How many characters of the turn in hand stand where it is cut short, if not all do: those up to a branch that does not
 * hold. Nothing of what was said there has come to anything. A model that goes on word for word says it again, guarded as
 * it was; one that begins anew is outside, and all that it says counts.
 */
export function cutBack(context: SessionContext, inside?: readonly Inside[]): { readonly kept?: number } {
  const kept = whatStands(context, inside ?? insideOf(context));
  return kept < (context.state.turns.at(-1)?.output.length ?? 0) ? { kept } : {};
}

function whatStands(context: SessionContext, inside: readonly Inside[]): number {
  const { state, calls } = context;
  const output = state.turns.at(-1)?.output ?? '';
  if (calls !== undefined) return output.length;
  const parser = createTurnParser(context, new Set(), inside);
  const branches: Branches = { branchHolds: true, openIfs: NONE };
  goOnInside(branches, inside);
  /** Where that began of each open `<if>` which does not hold, if its branch in hand does not. */
  const began = inside.map(() => 0);
  let asked = 0;
  const decide = (test: string): boolean | undefined => {
    const known = state.signs.ifs[asked++];
    if (known !== undefined) return known ?? undefined;
    const { held, problem } = decideIf(context, test);
    return problem === undefined ? held : undefined;
  };
  for (const { index: at, 0: piece } of output.matchAll(PIECE)) {
    // A tag that another piece has begun, in a quoted value say, is not read yet.
    const tagAt = Math.min(at, indexOfTag(output, parser.consumed));
    for (const event of parser.push(piece)) {
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
  }
  const dead = branches.openIfs.findIndex(({ live }) => !live);
  return began[dead] ?? output.length;
}

/** No piece has more than one tag, and that begins it. */
const PIECE = /<?[^<]+|</g;

const indexOfTag = (output: string, from: number): number => {
  const at = output.indexOf('<', from);
  return at === -1 ? output.length : at;
};
