import type { Pool, QueryResult } from 'pg';
import type { SharedDatabase } from '../../shared-store.ts';
import type { ListeningLink } from '../wire/listening-link.ts';

/** Others' channels on the store's listening connection. */
export interface OtherChannels {
  heard(channel: string, payload: string): void;
  /** There is a new connection: some may have been missed. */
  again(): void;
}

interface SharedDatabaseListener {
  readonly heard: (payload: string) => void;
  readonly again: () => void;
}

export interface DatabaseDeps {
  readonly pool: Pool;
  readonly link: () => ListeningLink;
  readonly start: () => void;
  readonly guard: <T>(work: () => Promise<T>) => Promise<T>;
}

export function createSharedDatabase(deps: DatabaseDeps): {
  readonly database: SharedDatabase;
  readonly others: OtherChannels;
} {
  const { pool, guard } = deps;
  const listeners = new Map<string, Set<SharedDatabaseListener>>();
  return {
    database: {
      execute: (text, values) =>
        guard(async () => {
          // Without values a text may hold several statements: then there are several results.
          const result: QueryResult | readonly QueryResult[] =
            values === undefined ? await pool.query(text) : await pool.query(text, [...values]);
          const all = Array.isArray(result) ? (result as readonly QueryResult[]) : [result as QueryResult];
          return { rows: all.flatMap(({ rows }) => rows) };
        }),
      async listen(channel, heard, again) {
        deps.start();
        const own: SharedDatabaseListener = { heard, again };
        const others = listeners.get(channel) ?? new Set();
        listeners.set(channel, others.add(own));
        // Where the connection breaks just now, the next one listens to it.
        if (others.size === 1)
          await deps
            .link()
            .listen(channel)
            .catch(() => undefined);
        return {
          async close() {
            if (!others.delete(own) || others.size > 0) return;
            listeners.delete(channel);
            await deps
              .link()
              .unlisten(channel)
              .catch(() => undefined);
          },
        };
      },
    },
    others: {
      heard(channel, payload) {
        for (const { heard } of [...(listeners.get(channel) ?? [])]) heard(payload);
      },
      again() {
        for (const some of [...listeners.values()]) for (const { again } of [...some]) again();
      },
    },
  };
}
