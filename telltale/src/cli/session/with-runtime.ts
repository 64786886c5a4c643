import type { Sessions } from '../../agent/open-sessions.ts';
import type { Runtime, RuntimeOptions } from '../../agent/runtime-types.ts';
import { RuntimeError } from '../../lib/errors.ts';
import { printable } from '../../manifest/diagnostic.ts';
import type { Store } from '../../store/store.ts';
import type { CommandContext } from '../command.ts';
import { type Io, paletteFor } from '../io.ts';
import { packageVersion } from '../program.ts';
import { startProgress } from '../progress.ts';
import { isInMemory, type StoreOption, shownLocation, storeExists, storeLocation } from './store-options.ts';

type WithRuntimeContext = Pick<CommandContext, 'io' | 'runtimes'>;

/** Opens the store, calls `use`, and always closes the store. */
export function withRuntime<T>(
  { io, runtimes }: WithRuntimeContext,
  options: StoreOption &
    Pick<RuntimeOptions, 'durability' | 'approve' | 'ask' | 'onError' | 'member' | 'served'> & {
      readonly early?: EarlyStore;
      /** Set if the caller makes spans and metrics itself. */
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
  { io, runtimes }: WithRuntimeContext,
  { store, mustExist = false }: StoreOption & { readonly mustExist?: boolean },
  work: (sessions: Sessions) => Promise<T>,
): Promise<T> {
  const location = storeLocation(store, io);
  const { env, cwd, clock } = io;
  // Commands that only read need no write access. One that writes, such as `steer`, is refused when it tries.
  const open = () =>
    runtimes.openSessions({ store: location, env, cwd, clock, mustExist, mayOnlyRead: mustExist });
  return withOpen(io, location, open, work);
}

/** The same for commands that only read: they do not create a missing store. */
export async function withStoredSessions<T>(
  context: WithRuntimeContext,
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
    // Report what stopped the work. A failed close is usually only its consequence.
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

/** Each of these variables turns on spans or metrics; `readSettings` reads the details. */
const TELEMETRY_VARIABLES = [
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
  'OTEL_TRACES_EXPORTER',
  'OTEL_METRICS_EXPORTER',
];

/**
 * Wraps the runtime so that it exports spans and metrics, if OTEL_ variables ask for it. Otherwise it loads nothing.
 * Closing it sends the rest within 2 s, and only then reports what could not be sent, so that no message interrupts the
 * run's view.
 */
async function exportTelemetry(runtime: Runtime, io: Io): Promise<Runtime> {
  if (!TELEMETRY_VARIABLES.some((name) => io.env[name])) return runtime;
  const [{ createTelemetry }, { readAnyEvent }, { openAmong }] = await Promise.all([
    import('../../telemetry/create-telemetry.ts'),
    import('../../agent/log/read-log.ts'),
    import('../../agent/reviews/review-table.ts'),
  ]);
  const problems: RuntimeError[] = [];
  const telemetry = createTelemetry({
    env: io.env,
    version: packageVersion(),
    clock: io.clock,
    onError: (error) => problems.push(error),
    recall: (stream) => readAnyEvent(runtime.store, stream, 1),
    stillOpen: (reviews) => openAmong(runtime.store, reviews),
  });
  runtime.watch(telemetry.observe);
  const close = async () => {
    try {
      await runtime.close();
    } finally {
      await telemetry.close();
      const { cyan, yellow } = paletteFor(io.stderr);
      for (const { message, hint = '' } of problems)
        await io.stderr.write(
          `${yellow('warning')}: ${printable(message)}\n  ${cyan('→')} ${printable(hint)}\n`,
        );
    }
  };
  return { ...runtime, close };
}

/** A store that opens while the agent is still being read. */
export interface EarlyStore {
  /** Await this before loading more modules: loading blocks this thread, which would delay the store's own thread. */
  readonly begun: Promise<void>;
  /** The caller must close it. Rejects like a normal open. */
  take(): Promise<Store>;
  /** Closes it if nobody has taken it. */
  close(): Promise<void>;
}

/**
 * Starts to open an existing store: its thread works on another core while this one loads the rest. Undefined if the
 * store does not exist, because it should only be created once the manifest has turned out to be valid.
 */
export function openEarly(
  { io, runtimes }: Pick<CommandContext, 'io' | 'runtimes'>,
  options: {
    readonly store?: string;
    readonly durability?: 'power' | 'process';
    /** Whether to refuse a database without a store. Otherwise the store is created. */
    readonly mustExist?: boolean;
  },
): EarlyStore | undefined {
  const location = storeLocation(options.store, io);
  if (!storeExists(location, io)) return undefined;
  const { cwd, clock } = io;
  const { durability = 'power', mustExist = false } = options;
  const opening = runtimes.openStore(location, { cwd, clock, durability, mustExist });
  opening.catch(() => undefined); // Whoever takes the store gets the error.
  let isTaken = false;
  return {
    begun: new Promise((resolve) => setImmediate(resolve)),
    take() {
      isTaken = true;
      return opening;
    },
    async close() {
      if (isTaken) return;
      const store = await opening.catch(() => undefined);
      await store?.close();
    },
  };
}
