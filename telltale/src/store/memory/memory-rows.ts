/**
 * The events of a stream as a database keeps them: a row an append, a line an event. One string for each event would be
 * four times as many objects, which the collector copies twice before it lets them lie.
 */
export interface MemoryRows {
  readonly bodies: string[];
  /** Of each row: how many events the stream has with it. */
  readonly ends: number[];
  /** Events in all of them. */
  length: number;
}

export const createMemoryRows = (): MemoryRows => ({ bodies: [], ends: [], length: 0 });

export function addRow(rows: MemoryRows, body: string, count: number): void {
  if (count === 0) return;
  rows.length += count;
  rows.bodies.push(body);
  rows.ends.push(rows.length);
}

/** At most `limit` events, those before `first` left out. */
export function readRows({ bodies, ends, length }: MemoryRows, first: number, limit: number): string[] {
  const events: string[] = [];
  const last = Math.min(length, first + limit);
  for (let row = rowOf(ends, first), at = ends[row - 1] ?? 0; at < last; at = ends[row++] ?? last) {
    const lines = (bodies[row] ?? '').split('\n');
    const from = Math.max(0, first - at);
    for (let line = from; line < lines.length && at + line < last; line++) events.push(lines[line] ?? '');
  }
  return events;
}

/** The row that holds the event with so many before it. */
function rowOf(ends: readonly number[], before: number): number {
  let low = 0;
  let high = ends.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ends[middle] ?? 0) > before) high = middle;
    else low = middle + 1;
  }
  return low;
}
