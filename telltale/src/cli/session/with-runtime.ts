import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Sessions } from '../../session/open-sessions.ts';
import type { Runtime, RuntimeOptions } from '../../session/runtime-types.ts';
import type { CommandContext } from '../command.ts';
import type { Io } from '../io.ts';
import { startProgress } from '../progress.ts';
import { exportTelemetry } from './export-telemetry.ts';
import type { EarlyStore } from './open-early.ts';
import { isInMemory, shownLocation, storeExists, storeLocation } from './store-location.ts';
import type { StoreOption } from './store-option.ts';

type Context = Pick<CommandContext, 'io' | 'runtimes'>;

/** Opens the store, works with it, closes it in any case. */
export function withRuntime<T>(
  { io, runtimes }: Context,
  options: StoreOption &
    Pick<RuntimeOptions, 'durability' | 'approve' | 'ask' | 'onError' | 'member' | 'served'> & {
      readonly early?: EarlyStore;
      /** The caller makes spans and metrics itself. */
      readonly ownTelemetry?: true;
    },
  work: (runtime: Runtime) => Promise<T>,
): Promise<T> {
  const { store, early, ownTelemetry, ...rest } = options;
  const location = storeLocation(store, io);
  const { env, cwd, clock } = io;
  const open = async () => {
    const opened = await early?.take();
    const created = await runtimes.createRuntime({ ...rest, store: opened ?? location, env, cwd, clock });
    const runtime = ownTelemetry ? created : await exportTelemetry(created, io);
    if (opened === undefined) return runtime;
    const close = async () => {
      await runtime.close();
      await opened.close();
    };
    return { ...runtime, close };
  };
  return withOpen(io, location, open, work);
}

/** The same for commands that run nothing. */
export function withSessions<T>(
  { io, runtimes }: Context,
  { store, mustExist = false }: StoreOption & { readonly mustExist?: boolean },
  work: (sessions: Sessions) => Promise<T>,
): Promise<T> {
  const location = storeLocation(store, io);
  const { env, cwd, clock } = io;
  // Whoever looks at what is there needs to write nothing; one that does, such as `steer`, is refused when it tries.
  const open = () =>
    runtimes.openSessions({ store: location, env, cwd, clock, mustExist, mayOnlyRead: mustExist });
  return withOpen(io, location, open, work);
}

/** And for those that look at what there is: a store that is not there is not made. */
export async function withStoredSessions<T>(
  context: Context,
  options: StoreOption,
  work: (sessions: Sessions) => Promise<T>,
): Promise<T> {
  requireStore(options, context.io);
  return withSessions(context, { ...options, mustExist: true }, work);
}

async function withOpen<Opened extends { close(): Promise<void> }, T>(
  io: Io,
  location: string,
  open: () => Promise<Opened>,
  work: (opened: Opened) => Promise<T>,
): Promise<T> {
  const stopProgress = startProgress(io, () => `Opening ${shownLocation(location)}…`);
  let opened: Opened;
  try {
    opened = await open();
  } finally {
    await stopProgress();
  }
  let result: T;
  try {
    result = await work(opened);
  } catch (thrown) {
    // What stopped the work is what there is to tell; that closing failed, too, is mostly its consequence.
    await opened.close().catch(() => undefined);
    throw thrown;
  }
  await opened.close();
  return result;
}

export function requireStore({ store }: StoreOption, io: Pick<Io, 'env' | 'cwd'>): void {
  const location = storeLocation(store, io);
  if (!storeExists(location, io)) throw noStore(location);
}

const noStore = (location: string) =>
  new RuntimeError('no_store', `There is no store at ${shownLocation(location)}.`, {
    hint: isInMemory(location)
      ? 'A store in memory ends with its process: name another store.'
      : 'Go to the folder where you ran the agent, or name its store with --store.',
  });
