import { useCallback, useEffect, useRef, useState } from 'react';
import type { Page } from '../../../telltale/src/client/api.ts';
import type { TelltaleClient } from '../../../telltale/src/client/client.ts';
import { type ErrorJson, toRuntimeError } from '../../../telltale/src/lib/errors.ts';
import { useData } from './use-data.ts';

export interface Paged<Item> {
  readonly kind: 'loading' | 'ready' | 'failed';
  readonly items: readonly Item[];
  readonly error?: ErrorJson;
  readonly more: boolean;
  readonly reading: boolean;
  readonly loadMore: () => void;
  /** Reads the list again from the start. The current items stay until then. */
  readonly reload: () => void;
}

interface State<Item> {
  readonly kind: Paged<Item>['kind'];
  readonly items: readonly Item[];
  readonly error?: ErrorJson;
  readonly next?: string;
  readonly reading: boolean;
}

/** How many items are kept. A filter finds older ones. */
const MAX_ITEMS = 5_000;

/**
 * A list that the server returns in pages and that no event changes. It is read again when `key` changes, and not at
 * all if `key` is undefined.
 */
export function usePaged<Item>(
  key: string | undefined,
  read: (client: TelltaleClient, cursor: string | undefined, signal: AbortSignal) => Promise<Page<Item>>,
): Paged<Item> {
  const { client } = useData();
  const empty: State<Item> = { kind: 'loading', items: [], reading: false };
  const [state, setState] = useState(empty);
  const [round, setRound] = useState(0);
  const latest = useRef(read);
  latest.current = read;
  const abort = useRef<AbortController | undefined>(undefined);
  const fetchPage = useCallback(
    async (before: State<Item>, cursor: string | undefined) => {
      abort.current?.abort();
      const own = new AbortController();
      abort.current = own;
      setState({ ...before, reading: true });
      try {
        const page = await latest.current(client, cursor, own.signal);
        if (own.signal.aborted) return;
        const items = cursor === undefined ? page.items : [...before.items, ...page.items];
        const goesOn = page.next !== undefined && items.length < MAX_ITEMS;
        setState({ kind: 'ready', items, reading: false, ...(goesOn ? { next: page.next } : {}) });
      } catch (thrown) {
        if (own.signal.aborted) return;
        const error = toRuntimeError(thrown).toJSON();
        setState({ ...before, kind: before.kind === 'ready' ? 'ready' : 'failed', error, reading: false });
      }
    },
    [client],
  );
  const now = useRef(state);
  now.current = state;
  const readKey = useRef<string | undefined>(undefined);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `round` asks again.
  useEffect(() => {
    if (key === undefined) return;
    const { error: _over, ...kept } = now.current;
    void fetchPage(
      readKey.current === key ? kept : { kind: 'loading', items: [], reading: false },
      undefined,
    );
    readKey.current = key;
    return () => abort.current?.abort();
  }, [key, round, fetchPage]);
  const { next, ...shown } = state;
  return {
    ...shown,
    more: next !== undefined,
    loadMore: () => {
      if (next !== undefined && !state.reading) void fetchPage(state, next);
    },
    reload: useCallback(() => setRound((before) => before + 1), []),
  };
}
