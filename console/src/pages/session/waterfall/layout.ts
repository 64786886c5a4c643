import type { WaterfallRow } from '../model/waterfall-rows.ts';

/** Pixels. */
export const ROW_HEIGHT = 26;
export const TURN_HEIGHT = 44;
/** Behind the end of the axis: room for the last bar's words. */
export const END_ROOM = 96;

export const rowHeight = (row: WaterfallRow | undefined): number =>
  row?.kind === 'turn' ? TURN_HEIGHT : ROW_HEIGHT;

/** How many of the rows had begun at an event: rows stand in the order in which they did. */
export function rowsUntil(rows: readonly WaterfallRow[], seq: number): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((rows[middle]?.seq ?? 0) <= seq) low = middle + 1;
    else high = middle;
  }
  return low;
}
