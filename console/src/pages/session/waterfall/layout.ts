import type { TurnRow, WaterfallRow } from '../model/waterfall-rows.ts';

/** In pixels. */
export const ROW_HEIGHT = 26;
export const TURN_HEIGHT = 44;
export const AXIS_HEIGHT = 28;
/** Room after the end of the axis for the last bar's label. */
export const END_ROOM = 96;

/** The first index of a sorted list for which `isBehind` is false. */
function firstNot(length: number, isBehind: (index: number) => boolean): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBehind(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** How many rows had started at an event. Rows are in the order of their start. */
export const rowsUntil = (rows: readonly WaterfallRow[], seq: number): number =>
  firstNot(rows.length, (at) => (rows[at]?.seq ?? 0) <= seq);

/** The positions of rows. All rows have the same height except those of turns, so no sums are needed. */
export interface RowPlaces {
  top(index: number): number;
  height(index: number): number;
  /** The row at a position. */
  indexAt(y: number, count: number): number;
  /** The turn of a row. */
  turnOf(index: number): TurnRow | undefined;
}

export function rowPlaces(turns: readonly TurnRow[]): RowPlaces {
  const turnsBefore = (index: number): number =>
    firstNot(turns.length, (at) => (turns[at]?.index ?? 0) < index);
  const top = (index: number): number => index * ROW_HEIGHT + turnsBefore(index) * (TURN_HEIGHT - ROW_HEIGHT);
  return {
    top,
    height: (index) => top(index + 1) - top(index),
    indexAt: (y, count) =>
      Math.max(
        0,
        firstNot(count, (at) => top(at + 1) <= y),
      ),
    turnOf: (index) => turns[turnsBefore(index + 1) - 1],
  };
}

/** Whether an event belongs to a row. */
export function isEventOf(row: WaterfallRow, seq: number): boolean {
  if (row.seq === seq || row.end?.seq === seq) return true;
  if (row.kind === 'turn') return row.tags.some((tag) => tag.kind !== 'action' && tag.seq === seq);
  return row.kind === 'action' && row.attempts.some((each) => each.seq === seq || each.end?.seq === seq);
}
