import type { Command } from 'commander';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Runtime, RuntimeOptions } from '../../session/runtime-types.ts';
import type { CommandContext } from '../command.ts';
import type { Io } from '../io.ts';
import { startProgress } from '../progress.ts';
import { isInMemory, storeExists, storeLocation } from './store-location.ts';

export interface StoreOption {
  readonly store?: string;
}

export const addStoreOption = (command: Command): Command =>
  command.option(
    '--store <path>',
    'where sessions are kept: a file, or "memory" (default: TELLTALE_STORE, else .telltale/telltale.db)',
  );

type Context = Pick<CommandContext, 'io' | 'runtimes'>;

/** Opens the store, works with it, closes it in any case. */
export async function withRuntime<T>(
  { io, runtimes }: Context,
  options: StoreOption & Pick<RuntimeOptions, 'durability' | 'approve'>,
  work: (runtime: Runtime) => Promise<T>,
): Promise<T> {
  const { store, ...rest } = options;
  const location = storeLocation(store, io);
  const stopProgress = startProgress(io, () => `Opening ${location}…`);
  let runtime: Runtime;
  try {
    runtime = await runtimes.createRuntime({
      ...rest,
      store: location,
      env: io.env,
      cwd: io.cwd,
      clock: io.clock,
    });
  } finally {
    await stopProgress();
  }
  let result: T;
  try {
    result = await work(runtime);
  } catch (thrown) {
    // What stopped the work is what there is to tell; that closing failed, too, is mostly its consequence.
    await runtime.close().catch(() => undefined);
    throw thrown;
  }
  await runtime.close();
  return result;
}

/** The same for commands that look at what there is: a store that is not there is not made. */
export async function withStoredRuntime<T>(
  context: Context,
  options: StoreOption,
  work: (runtime: Runtime) => Promise<T>,
): Promise<T> {
  requireStore(options, context.io);
  return withRuntime(context, options, work);
}

export function requireStore({ store }: StoreOption, io: Pick<Io, 'env' | 'cwd'>): void {
  const location = storeLocation(store, io);
  if (!storeExists(location, io)) throw noStore(location);
}

const noStore = (location: string) =>
  new RuntimeError('no_store', `There is no store at ${location}.`, {
    hint: isInMemory(location)
      ? 'A store in memory ends with the process that made it: name the one that was run with.'
      : 'Go to the folder where the agent was run, or name its store with --store.',
  });
