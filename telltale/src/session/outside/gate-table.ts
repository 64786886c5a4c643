import { isJsonObject, type Json, type JsonObject } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Tables, TableWrite } from '../../store/store.ts';
import { type GateRow, readGate } from './gate-row.ts';

export const GATES = 'gates';
/** What runs are started with that are not on their logs yet: each may hold a megabyte. */
const SEEN = 'gates_seen';
/** Others change a row when a run comes, begins or ends. */
const MAX_TRIES = 100;

export interface GateTable {
  read(): Promise<GateRow>;
  seen(run: string): Promise<JsonObject | undefined>;
  /** It is on its log. */
  forget(run: string): Promise<void>;
  /** Writes what `decide` makes of the row, unless that is undefined; decides again where another was quicker. */
  change<Decided extends Change>(
    decide: (row: GateRow) => Decided | undefined | Promise<Decided | undefined>,
  ): Promise<Decided | undefined>;
}

export interface Change {
  readonly row: GateRow;
  /** What a run is to be started with. */
  readonly keep?: { readonly run: string; readonly seen: JsonObject } | undefined;
  readonly forget?: readonly string[];
}

/** The row of one trigger. Changes of this process are made one after the other. */
export function createGateTable(tables: Tables, name: string): GateTable {
  let tail: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const done = tail.then(work);
    tail = done.catch(() => undefined); // whoever asked hears of it
    return done;
  };
  const is = { table: GATES, key: name };
  const seenOf = (run: string) => ({ table: SEEN, key: `${name}/${run}` });
  return {
    read: async () => readGate(await tables.get(GATES, name)),
    async seen(run) {
      const value = await tables.get(SEEN, seenOf(run).key);
      return isJsonObject(value) ? value : undefined;
    },
    async forget(run) {
      await tables.delete(SEEN, seenOf(run).key);
    },
    change: (decide) =>
      inTurn(async () => {
        for (let tries = 0; tries < MAX_TRIES; tries++) {
          const found = await tables.get(GATES, name);
          const decided = await decide(readGate(found));
          if (decided === undefined) return undefined;
          const { row, keep, forget = [] } = decided;
          const writes: TableWrite[] = [
            { ...is, value: row as unknown as Json },
            ...forget.map((run) => ({ ...seenOf(run), value: undefined })),
            ...(keep === undefined ? [] : [{ ...seenOf(keep.run), value: keep.seen }]),
          ];
          if (await tables.exchange([{ ...is, value: found }], writes)) return decided;
        }
        throw gateContended(name);
      }),
  };
}

const gateContended = (name: string) =>
  new RuntimeError(
    'trigger_contended',
    `Others changed what is known of the runs of "${name}" ${MAX_TRIES} times while one was to be let in.`,
    { hint: 'Send it again. How many processes listen on this store?', retryable: true },
  );
