import { RuntimeError } from '../../../telltale/src/lib/errors.ts';
import { compareRows, type LiveRow } from './live-row.ts';
import type { Readable } from './readable.ts';

/** How many rows are kept. The oldest are dropped first. */
const MAX_ROWS = 20_000;
/** How many events may arrive while a list is being read. */
const MAX_HELD = 20_000;
/** Changes within this time are rendered together: a thousand events a second cause twelve renderings. */
const BATCH_MS = 80;

export interface CollectionEdges<Row, Event> {
  readonly empty: (id: string) => Row;
  readonly fold: (row: Row, event: Event) => Row;
  readonly idOf: (event: Event) => string;
  /** Whether an event of an unknown row makes the row worth reading, even if it is not its first event. */
  readonly revives: (event: Event) => boolean;
  readonly fetchOne: (id: string) => Promise<Row>;
  /** Calls `run` once, later. */
  readonly later?: (run: () => void, ms: number) => void;
}

/** Summaries by id: as the server's lists returned them, updated by later events. */
export interface LiveCollection<Row, Event> {
  /** Newest first. */
  readonly rows: Readable<readonly Row[]>;
  readonly find: (id: string) => Row | undefined;
  readonly accept: (event: Event) => void;
  /** Reads rows. Events that arrive meanwhile are applied afterwards, each once. */
  readonly load: <Got extends readonly Row[]>(read: () => Promise<Got>) => Promise<Got>;
  /** Reads a row that may be unknown. */
  readonly want: (id: string) => Promise<Row>;
}

const tooManyHeld = () =>
  new RuntimeError('too_many_events', `More than ${MAX_HELD} events arrived while the list was being read.`, {
    hint: 'Try again. Nothing is lost.',
    retryable: true,
  });

export function createLiveCollection<Row extends LiveRow, Event extends { readonly seq: number }>(
  edges: CollectionEdges<Row, Event>,
): LiveCollection<Row, Event> {
  const { empty, fold, idOf, revives, fetchOne, later = setTimeout } = edges;
  const byId = new Map<string, Row>();
  const listeners = new Set<() => void>();
  let shown: readonly Row[] = [];
  let order: string[] | undefined = [];
  let planned = false;
  let reading = 0;
  let held: Event[] = [];

  const show = () => {
    planned = false;
    if (order === undefined) {
      const sorted = [...byId.values()].sort(compareRows);
      for (const { id } of sorted.slice(MAX_ROWS)) byId.delete(id);
      order = sorted.slice(0, MAX_ROWS).map(({ id }) => id);
    }
    shown = order.map((id) => byId.get(id)!);
    for (const changed of listeners) changed();
  };
  const put = (row: Row) => {
    const known = byId.get(row.id);
    if (known === undefined || known.startedAt !== row.startedAt) order = undefined;
    byId.set(row.id, row);
    if (planned) return;
    planned = true;
    later(show, BATCH_MS);
  };
  const foldIn = (event: Event) => {
    const id = idOf(event);
    const row = byId.get(id) ?? (event.seq === 1 ? empty(id) : undefined);
    if (row !== undefined && event.seq > row.seq) put(fold(row, event));
    return row !== undefined;
  };

  const collection: LiveCollection<Row, Event> = {
    rows: {
      get: () => shown,
      subscribe(changed) {
        listeners.add(changed);
        return () => listeners.delete(changed);
      },
    },
    find: (id) => byId.get(id),
    accept(event) {
      if (reading > 0 && held.length <= MAX_HELD) held.push(event);
      if (foldIn(event) || !revives(event)) return;
      // A page shows the error. A list works without the row.
      collection.want(idOf(event)).catch(() => undefined);
    },
    async load(read) {
      reading++;
      try {
        const rows = await read();
        if (held.length > MAX_HELD) throw tooManyHeld();
        for (const row of rows) if (row.seq >= (byId.get(row.id)?.seq ?? 0)) put(row);
        for (const event of held) foldIn(event);
        if (planned) show();
        return rows;
      } finally {
        reading--;
        if (reading === 0) held = [];
      }
    },
    async want(id) {
      const known = byId.get(id);
      if (known !== undefined) return known;
      const [row] = await collection.load(async () => [await fetchOne(id)]);
      return byId.get(id) ?? row!;
    },
  };
  return collection;
}
