import type { TurnRow, WaterfallRow } from '../model/waterfall-rows.ts';

/** Pixels. */
export const ROW_HEIGHT = 26;
export const TURN_HEIGHT = 44;
export const AXIS_HEIGHT = 28;
/** Behind the end of the axis: room for the last bar's words. */
export const END_ROOM = 96;

/** The first place of a list in order for which `isBehind` does not hold any more. */
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

/** How many of the rows had begun at an event: rows stand in the order in which they did. */
export const rowsUntil = (rows: readonly WaterfallRow[], seq: number): number =>
  firstNot(rows.length, (at) => (rows[at]?.seq ?? 0) <= seq);

/** Where rows lie: all are equally high but those of turns, so nothing has to be added up. */
export interface RowPlaces {
  top(index: number): number;
  height(index: number): number;
  /** The row at a place. */
  indexAt(y: number, count: number): number;
  /** The turn that a row stands under. */
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

/** Whether an event is one of a row's own. */
export function isEventOf(row: WaterfallRow, seq: number): boolean {
  if (row.seq === seq || row.end?.seq === seq) return true;
  if (row.kind === 'turn') return row.tags.some((tag) => tag.kind !== 'action' && tag.seq === seq);
  return row.kind === 'action' && row.attempts.some((each) => each.seq === seq || each.end?.seq === seq);
}
