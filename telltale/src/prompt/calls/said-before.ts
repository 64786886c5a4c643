import { TURN_CUT_SHORT } from '../../events/fold-turns.ts';
import type { TurnRecord } from '../../events/turn-record.ts';

/** Whether this turn was asked to go on with the one before it, which a restart had cut short. */
export const goesOn = ({ news }: Pick<TurnRecord, 'news'>): boolean =>
  news.broken?.error.code === TURN_CUT_SHORT;

/** What the model had said in answer to the same request before the turn at `index`, over all restarts. */
export function saidBefore(turns: readonly TurnRecord[], index: number): string {
  let before = '';
  for (let at = index; at > 0; at--) {
    const turn = turns[at];
    if (turn === undefined || !goesOn(turn)) break;
    before = (turns[at - 1]?.output ?? '') + before;
  }
  return before;
}
