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

/** Opens the store, works with it, closes it in any case. */
export function withRuntime<T>(
  { io, runtimes }: WithRuntimeContext,
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
  { io, runtimes }: WithRuntimeContext,
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

/** Any of these asks for spans or metrics; what exactly is read by `readSettings`. */
const ASKS = [
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
  'OTEL_TRACES_EXPORTER',
  'OTEL_METRICS_EXPORTER',
];

/**
 * The runtime, with spans and metrics of all it works on sent where the OTEL_ variables ask for it; nothing is loaded
 * where they do not. Closing it sends the rest, for two seconds at the most, and says then what could not be sent: a line
 * in the middle would go through the view of the run.
 */
async function exportTelemetry(runtime: Runtime, io: Io): Promise<Runtime> {
  if (!ASKS.some((name) => io.env[name])) return runtime;
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

/** A store that is being opened while the agent is still being read. */
export interface EarlyStore {
  /** To be awaited before more is loaded: loading holds this thread to its end, and its own would start behind that. */
  readonly begun: Promise<void>;
  /** Whoever takes it closes it. Rejects as opening it only now would. */
  take(): Promise<Store>;
  /** Closes it if nobody has taken it. */
  close(): Promise<void>;
}

/**
 * Opens a store that is there already: its thread starts on another core while this one loads the rest. One that would
 * have to be made is left until the manifest has turned out well: undefined.
 */
export function openEarly(
  { io, runtimes }: Pick<CommandContext, 'io' | 'runtimes'>,
  options: {
    readonly store?: string;
    readonly durability?: 'power' | 'process';
    /** Whether a database without a store is refused rather than given one. */
    readonly mustExist?: boolean;
  },
): EarlyStore | undefined {
  const location = storeLocation(options.store, io);
  if (!storeExists(location, io)) return undefined;
  const { cwd, clock } = io;
  const { durability = 'power', mustExist = false } = options;
  const opening = runtimes.openStore(location, { cwd, clock, durability, mustExist });
  opening.catch(() => undefined); // told to whoever takes it
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
