import { wasCutShort } from '../../events/fold-turns.ts';
import type { TurnRecord } from '../../events/turn-record.ts';

/** What the model had said in answer to the same request before the turn at `index`, over all restarts. */
export function saidBefore(turns: readonly TurnRecord[], index: number): string {
  let before = '';
  for (let at = index; at > 0; at--) {
    const turn = turns[at];
    if (turn === undefined || !wasCutShort(turn)) break;
    before = (turns[at - 1]?.output ?? '') + before;
  }
  return before;
}
