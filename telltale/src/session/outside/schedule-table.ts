import type { Json } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Tables } from '../../store/store.ts';
import { readRow, type ScheduleRow } from './schedule-row.ts';

const TABLE = 'schedules';
/** Others change a row once for each time that comes due. */
const MAX_TRIES = 100;

export interface ScheduleTable {
  read(): Promise<ScheduleRow | undefined>;
  /** Writes what `decide` makes of the row, unless that is undefined; decides again where another was quicker. */
  change<Decided extends { readonly row: ScheduleRow }>(
    decide: (row: ScheduleRow | undefined) => Decided | undefined,
  ): Promise<Decided | undefined>;
}

/** The row of one schedule. Changes of this process are made one after the other. */
export function createScheduleTable(tables: Tables, name: string): ScheduleTable {
  let tail: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const done = tail.then(work);
    tail = done.catch(() => undefined); // whoever asked hears of it
    return done;
  };
  return {
    read: async () => readRow(await tables.get(TABLE, name)),
    change: (decide) =>
      inTurn(async () => {
        for (let tries = 0; tries < MAX_TRIES; tries++) {
          const found = await tables.get(TABLE, name);
          const decided = decide(readRow(found));
          if (decided === undefined) return undefined;
          const value = decided.row as unknown as Json;
          const is = { table: TABLE, key: name };
          if (await tables.exchange([{ ...is, value: found }], [{ ...is, value }])) return decided;
        }
        throw scheduleContended(name);
      }),
  };
}

const scheduleContended = (name: string) =>
  new RuntimeError(
    'schedule_contended',
    `Others changed the schedule "${name}" ${MAX_TRIES} times while it was to be claimed.`,
    { hint: 'Telltale tries again by itself. How many processes listen on this store?', retryable: true },
  );
