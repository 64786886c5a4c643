import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Store } from '../../store/store.ts';
import type { CommandContext } from '../command.ts';
import type { Io } from '../io.ts';
import { usage } from '../options.ts';
import { startProgress, startProgressLines } from '../progress.ts';
import type { StoreOption } from '../session/store-options.ts';
import { isInMemory, shownLocation, storeLocation } from '../session/store-options.ts';
import { requireStore } from '../session/with-runtime.ts';

export interface UpkeepOptions extends StoreOption {
  readonly json?: true;
}

type ForUpkeepContext = Pick<CommandContext, 'io' | 'runtimes'>;

/** Opens an existing store, calls `use`, and always closes it. */
export async function withStore<T>(
  { store }: StoreOption,
  context: ForUpkeepContext,
  work: (store: Store) => Promise<T>,
): Promise<T> {
  requireStore(store === undefined ? {} : { store }, context.io);
  return withStoreAt(storeLocation(store, context.io), context, work, true);
}

/** The same, but creates a missing store. */
export async function withStoreAt<T>(
  location: string,
  { io, runtimes }: ForUpkeepContext,
  work: (store: Store) => Promise<T>,
  mustExist = false,
): Promise<T> {
  const { cwd, clock } = io;
  const stopProgress = startProgress(io, () => `Opening ${shownLocation(location)}…`);
  const options = { cwd, clock, mustExist, mayOnlyRead: mustExist };
  const store = await runtimes.openStore(location, options).finally(stopProgress);
  let result: T;
  try {
    result = await work(store);
  } catch (thrown) {
    // Report what stopped the work. A failed close is usually only its consequence.
    await store.close().catch(() => undefined);
    throw thrown;
  }
  await store.close();
  return result;
}

/** Reports progress on stderr, unless JSON is asked for. */
export async function withProgress<T>(
  { io }: ForUpkeepContext,
  { json }: UpkeepOptions,
  text: () => string,
  work: () => Promise<T>,
): Promise<T> {
  if (json === true) return work();
  const stopProgress = startProgress(io, text);
  const stopLines = startProgressLines(io, text);
  try {
    return await work();
  } finally {
    stopLines();
    await stopProgress();
  }
}

/** The location of a store for keeping data, so it must outlive this process. */
export function keptLocation(named: string | undefined, io: Pick<Io, 'env'>): string {
  const location = storeLocation(named, io);
  if (isInMemory(location))
    throw usage('A store in memory ends with its process.', 'Name a file, or a database.');
  return location;
}

/** Resolves links, to see whether two names mean the same store. */
export function samePlace(a: string, b: string, cwd: string): boolean {
  const place = (location: string) => {
    if (!location.startsWith('sqlite:')) return location;
    const path = resolve(cwd, location.slice('sqlite:'.length));
    try {
      return realpathSync(path);
    } catch {
      return path; // The file does not exist yet.
    }
  };
  return place(a) === place(b);
}
