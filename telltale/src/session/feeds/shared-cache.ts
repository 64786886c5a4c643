import type { SharedCache, SharedValue } from '../../feeds/feed-edges.ts';
import type { Json } from '../../kernel/json.ts';
import type { Store } from '../../store/store.ts';

/** What sessions of an agent share of their feeds: a table of the store, whose entries end by themselves. */
export function createSharedCache({ tables }: Pick<Store, 'tables'>, agent: string): SharedCache {
  const table = `feeds:${agent}`;
  return {
    // Only what `set` put there is in it.
    get: async (key) => (await tables.get(table, key)) as SharedValue | undefined,
    set: (key, value, ttlMs) => tables.set(table, key, { ...value } as Json, { ttlMs }),
  };
}
