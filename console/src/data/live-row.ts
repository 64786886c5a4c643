export interface LiveRow {
  readonly id: string;
  readonly seq: number;
  readonly startedAt: number;
}

/** Newest first. Rows of the same instant are ordered by id. */
export const compareRows = (
  a: Pick<LiveRow, 'id' | 'startedAt'>,
  b: Pick<LiveRow, 'id' | 'startedAt'>,
): number => b.startedAt - a.startedAt || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0);
