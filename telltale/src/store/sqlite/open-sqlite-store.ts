import { resolve } from 'node:path';
import type { Clock } from '../../kernel/clock.ts';
import { createGroupedStore } from '../grouped/grouped-store.ts';
import type { Store } from '../store.ts';
import { createProcessView, type ProcessViewOptions } from './process-view.ts';
import { startStoreThread } from './store-thread.ts';

export interface SqliteStoreOptions extends ProcessViewOptions {
  readonly path: string;
  /** `power` (the default) survives the plug, `process` kill -9. */
  readonly durability?: 'power' | 'process';
  readonly clock: Pick<Clock, 'now'>;
  /** How long another program's lock on the file is waited for. */
  readonly lockTimeoutMs?: number;
  /** The file may grow to so many pages of 4 KiB; then it is full. */
  readonly maxPages?: number;
  /** Whether a file that cannot be written is opened all the same, to be read: every write is then refused. */
  readonly mayOnlyRead?: boolean;
}

const LOCK_TIMEOUT_MS = 10_000;

/**
 * Opens the file, or makes it and its folder. Rejects with `store_newer`, `store_foreign`, `store_damaged`,
 * `store_locked`, `store_unwritable` or `store_full`, and has then changed nothing in the file.
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const { durability = 'power', lockTimeoutMs = LOCK_TIMEOUT_MS, maxPages = null } = options;
  const { mayOnlyRead = false } = options;
  const view = createProcessView(options);
  const path = resolve(options.path);
  const thread = await startStoreThread({
    path,
    durability,
    lockTimeoutMs,
    maxPages,
    mayOnlyRead,
    ...view.self,
  });
  const location = `sqlite:${options.path}`;
  const openGraphs = async () => {
    const { startGraphThread } = await import('./graph/start-graph-thread.ts');
    return startGraphThread({ path, durability, lockTimeoutMs, maxPages }, location);
  };
  return createGroupedStore({ location, clock: options.clock, backend: thread, view, openGraphs });
}
