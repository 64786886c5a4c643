import type { AuditEntry } from '../../client/api.ts';
import type { Store } from '../../store/store.ts';

const LIST = 'server.audit';

export function createAudit({ tables }: Pick<Store, 'tables'>): Audit {
  return {
    async add(entry) {
      await tables.push(LIST, { ...entry });
    },
    async list({ before, limit }) {
      const most = Math.max(0, limit);
      // Entries are numbered without gaps.
      const rows =
        before === undefined
          ? await tables.entries(LIST, { last: most })
          : await tables.entries(LIST, {
              after: Math.max(0, before - 1 - most),
              limit: Math.min(most, Math.max(0, before - 1)),
            });
      return rows
        .map(({ n, at, value }) => ({ n, at, ...(value as unknown as Omit<AuditEntry, 'n' | 'at'>) }))
        .reverse();
    },
  };
}

/**
 * A record of who did what, in an append-only list of the store. Actions on a session or run are on its own log, too.
 */
export interface Audit {
  add(entry: Omit<AuditEntry, 'n' | 'at'>): Promise<void>;
  /** Newest first. */
  list(options: { readonly before?: number; readonly limit: number }): Promise<readonly AuditEntry[]>;
}
