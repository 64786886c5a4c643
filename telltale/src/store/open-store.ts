import { resolve } from 'node:path';
import type { Clock } from '../kernel/clock.ts';
import { RuntimeError } from '../kernel/runtime-error.ts';
import type { SqliteStoreOptions } from './sqlite/open-sqlite-store.ts';
import type { Store } from './store.ts';

export interface OpenStoreOptions extends Omit<SqliteStoreOptions, 'path'> {
  readonly clock: Clock;
  /** Where a relative path begins. */
  readonly cwd?: string;
}

const SCHEME = /^([a-z][a-z0-9+.-]+):(.*)$/s;

/** Opens the store at `memory`, `sqlite:PATH` or PATH. */
export async function openStore(location: string, options: OpenStoreOptions): Promise<Store> {
  if (location === 'memory') {
    const { createMemoryStore } = await import('./memory/memory-store.ts');
    return createMemoryStore(options);
  }
  const [, scheme, rest] = SCHEME.exec(location) ?? [];
  const path = scheme === undefined ? location : scheme === 'sqlite' ? rest : undefined;
  if (path === undefined) throw locationUnknown(location);
  if (path === '' || path === ':memory:') throw pathMissing(location);
  const { openSqliteStore } = await import('./sqlite/open-sqlite-store.ts');
  return openSqliteStore({ ...options, path: resolve(options.cwd ?? '', path) });
}

const locationUnknown = (location: string) =>
  new RuntimeError('store_unknown', `There is no kind of store for "${location}".`, {
    hint: 'Use sqlite:PATH, a path alone, or memory.',
  });

const pathMissing = (location: string) =>
  new RuntimeError('store_unknown', `"${location}" names no file.`, {
    hint: 'Give the path of a file, as in sqlite:./telltale.db, or memory for none at all.',
  });
