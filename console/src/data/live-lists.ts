import { useEffect } from 'react';
import type { Page } from '../../../telltale/src/client/api.ts';
import type { LiveCollection } from './live-collection.ts';
import { createLiveList, type ListView, type LiveList } from './live-list.ts';
import type { LiveRow } from './live-row.ts';
import { useReadable } from './readable.ts';

/** How many filters keep their lists. The least recently used is dropped first. */
const MAX_LISTS = 24;

/** The lists of a collection, one per query. Lists that a page shows are attached, and refreshed when necessary. */
export interface LiveLists<Query, Row> {
  readonly of: (query: Query) => LiveList<Row>;
  /** Keeps the list fresh until the returned function is called. */
  readonly attach: (list: LiveList<Row>) => () => void;
  readonly refresh: () => void;
}

export interface LiveListsEdges<Query, Row, Event> {
  readonly collection: LiveCollection<Row, Event>;
  readonly fetchPage: (query: Query, cursor: string | undefined) => Promise<Page<Row>>;
  readonly matches: (query: Query, row: Row) => boolean;
  /**
   * Resolves when events arrive, or when it is known that they won't. A list that is read earlier would be read twice.
   */
  readonly settled: Promise<void>;
}

export function createLiveLists<Query, Row extends LiveRow, Event>(
  edges: LiveListsEdges<Query, Row, Event>,
): LiveLists<Query, Row> {
  const { collection, fetchPage, matches, settled } = edges;
  const lists = new Map<string, LiveList<Row>>();
  const attached = new Map<LiveList<Row>, number>();
  return {
    of(query) {
      const key = JSON.stringify(query);
      const list =
        lists.get(key) ??
        createLiveList<Row>({
          collection,
          fetchPage: (cursor) => fetchPage(query, cursor),
          matches: (row) => matches(query, row),
        });
      lists.delete(key);
      lists.set(key, list);
      const [oldest] = lists.keys();
      if (lists.size > MAX_LISTS && oldest !== undefined) lists.delete(oldest);
      return list;
    },
    attach(list) {
      attached.set(list, (attached.get(list) ?? 0) + 1);
      void settled.then(() => list.refresh());
      return () => {
        const left = (attached.get(list) ?? 1) - 1;
        if (left > 0) attached.set(list, left);
        else attached.delete(list);
      };
    },
    refresh() {
      for (const list of attached.keys()) void list.refresh();
    },
  };
}

/** The list of a query, kept live while the component is mounted. */
export function useLiveList<Query, Row>(
  lists: LiveLists<Query, Row>,
  query: Query,
): ListView<Row> & Pick<LiveList<Row>, 'refresh' | 'loadMore'> {
  const list = lists.of(query);
  const view = useReadable(list);
  useEffect(() => lists.attach(list), [lists, list]);
  return { ...view, refresh: list.refresh, loadMore: list.loadMore };
}
