import type { Page } from '../../../telltale/src/client/api.ts';
import { type ErrorJson, toRuntimeError } from '../../../telltale/src/lib/errors.ts';
import type { LiveCollection } from './live-collection.ts';
import { compareRows, type LiveRow } from './live-row.ts';
import { createStore, type Readable } from './readable.ts';

/** How many pages are read again after a lost connection. "Load more" reads the ones behind them. */
const MAX_PAGES_ANEW = 20;

export interface ListView<Row> {
  readonly rows: readonly Row[];
  /** `ready` from the first page on, even while another page is being read. */
  readonly kind: 'loading' | 'ready' | 'failed';
  readonly error?: ErrorJson;
  /** Whether the server has more rows, and whether they are being read. */
  readonly more: boolean;
  readonly reading: boolean;
}

export interface LiveList<Row> extends Readable<ListView<Row>> {
  readonly refresh: () => Promise<void>;
  readonly loadMore: () => Promise<void>;
}

export interface ListDeps<Row> {
  readonly collection: Pick<LiveCollection<Row, never>, 'rows' | 'load'>;
  readonly fetchPage: (cursor: string | undefined) => Promise<Page<Row>>;
  readonly matches: (row: Row) => boolean;
}

interface Progress {
  readonly kind: 'loading' | 'ready' | 'failed';
  readonly error?: ErrorJson;
  readonly next?: string;
  /** The last row that was read. Older rows are not shown, because rows in between may be missing. */
  readonly horizon?: LiveRow;
  readonly reading: boolean;
}

/** A list that the server returns in pages and that new rows join on their own. */
export function createLiveList<Row extends LiveRow>(edges: ListDeps<Row>): LiveList<Row> {
  const { collection, fetchPage, matches } = edges;
  const progress = createStore<Progress>({ kind: 'loading', reading: false });
  let seen: { rows: readonly Row[]; at: Progress; view: ListView<Row> } | undefined;

  const read = async (cursor: string | undefined) => {
    let next: string | undefined;
    const rows = await collection.load(async () => {
      const page = await fetchPage(cursor);
      next = page.next;
      return page.items;
    });
    const last = rows.at(-1);
    return { next, last };
  };
  const settle = (next: string | undefined, horizon: LiveRow | undefined) =>
    progress.set({
      kind: 'ready',
      reading: false,
      ...(next === undefined ? {} : { next }),
      ...(next === undefined || horizon === undefined ? {} : { horizon }),
    });
  const guarded = async (work: () => Promise<void>) => {
    const before = progress.get();
    if (before.reading) return;
    const { error: _over, ...kept } = before;
    progress.set({ ...kept, reading: true });
    try {
      await work();
    } catch (thrown) {
      const kind = before.kind === 'ready' ? 'ready' : 'failed';
      progress.set({ ...before, kind, reading: false, error: toRuntimeError(thrown).toJSON() });
    }
  };

  return {
    get() {
      const at = progress.get();
      const rows = collection.rows.get();
      if (seen?.rows === rows && seen.at === at) return seen.view;
      const { horizon } = at;
      const within = (row: Row) => horizon === undefined || compareRows(row, horizon) <= 0;
      const view: ListView<Row> = {
        rows: rows.filter((row) => matches(row) && within(row)),
        kind: at.kind,
        more: at.next !== undefined,
        reading: at.reading,
        ...(at.error === undefined ? {} : { error: at.error }),
      };
      seen = { rows, at, view };
      return view;
    },
    subscribe(changed) {
      const ends = [progress.subscribe(changed), collection.rows.subscribe(changed)];
      return () => ends.forEach((end) => void end());
    },
    refresh: () =>
      guarded(async () => {
        const { horizon: wanted } = progress.get();
        let { next, last } = await read(undefined);
        for (let page = 1; page < MAX_PAGES_ANEW; page++) {
          if (next === undefined || last === undefined || wanted === undefined) break;
          if (compareRows(last, wanted) >= 0) break;
          ({ next, last } = await read(next));
        }
        settle(next, last);
      }),
    loadMore: () =>
      guarded(async () => {
        const { next: cursor } = progress.get();
        if (cursor === undefined) return settle(undefined, undefined);
        const { next, last } = await read(cursor);
        settle(next, last ?? progress.get().horizon);
      }),
  };
}
