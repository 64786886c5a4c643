import type { Waterfall } from '../model/waterfall.ts';
import type { TurnRow, WaterfallRow } from '../model/waterfall-rows.ts';

/** The turn that a row stands under. */
export function turnOfRow({ rows, turns }: Waterfall, index: number): TurnRow | undefined {
  const seq = rows[index]?.seq ?? 0;
  let low = 0;
  let high = turns.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((turns[middle]?.seq ?? 0) <= seq) low = middle + 1;
    else high = middle;
  }
  return turns[low - 1];
}

/** Whether an event is one of a row's own. */
export function isEventOf(row: WaterfallRow, seq: number): boolean {
  if (row.seq === seq || row.end?.seq === seq) return true;
  if (row.kind === 'turn') return row.tags.some((tag) => tag.kind !== 'action' && tag.seq === seq);
  return row.kind === 'action' && row.attempts.some((each) => each.seq === seq || each.end?.seq === seq);
}
