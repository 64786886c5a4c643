import { resolve } from 'node:path';
import type { Clock } from '../lib/clock.ts';
import { RuntimeError } from '../lib/errors.ts';
import type { SqliteStoreOptions } from './sqlite/open-sqlite-store.ts';
import type { Store } from './store.ts';

export interface OpenStoreOptions extends Omit<SqliteStoreOptions, 'path'> {
  readonly clock: Clock;
  /** Where a relative path begins. */
  readonly cwd?: string;
  /** Whether a database without a store is refused with `store_empty`. A file that is not there is its caller's to look for. */
  readonly mustExist?: boolean;
  /** The file of the knowledge graphs of a PostgreSQL store: graphs are of folders of this machine. */
  readonly graphs?: string;
}

const SCHEME = /^([a-z][a-z0-9+.-]+):(.*)$/s;

/** Beside what else a project keeps on the machine, and kept as long: facts that agents have learned are in it. */
const GRAPHS = '.telltale/graphs.db';

/** Opens the store at `memory`, `sqlite:PATH`, PATH or `postgres://…`. */
export async function openStore(location: string, options: OpenStoreOptions): Promise<Store> {
  if (location === 'memory') {
    const { createMemoryStore } = await import('./memory/memory-store.ts');
    return createMemoryStore(options);
  }
  const [, scheme, rest] = SCHEME.exec(location) ?? [];
  if (scheme === 'postgres' || scheme === 'postgresql') {
    const { openPostgresStore } = await import('./postgres/open-postgres-store.ts');
    const graphs = options.graphs ?? GRAPHS;
    return openPostgresStore({ ...options, url: location, graphs: resolve(options.cwd ?? '', graphs) });
  }
  const path = scheme === undefined ? location : scheme === 'sqlite' ? rest : undefined;
  if (path === undefined) throw locationUnknown(location);
  if (path === '' || path === ':memory:') throw pathMissing(location);
  const { openSqliteStore } = await import('./sqlite/open-sqlite-store.ts');
  return openSqliteStore({ ...options, path: resolve(options.cwd ?? '', path) });
}

const locationUnknown = (location: string) =>
  new RuntimeError('store_unknown', `There is no kind of store for "${location}".`, {
    hint: 'Use sqlite:PATH, a path alone, postgres://USER:PASSWORD@HOST/DATABASE, or memory.',
  });

const pathMissing = (location: string) =>
  new RuntimeError('store_unknown', `"${location}" names no file.`, {
    hint: 'Give the path of a file, as in sqlite:./telltale.db, or memory for none at all.',
  });
