import { toRuntimeError } from '../../kernel/runtime-error.ts';
import type { AgentCatalog } from '../../server/catalog/agent-catalog.ts';
import type { Daemon } from '../../server/start-daemon.ts';
import { readAnyEvent } from '../../session/log/read-log.ts';
import type { Runtime } from '../../session/runtime-types.ts';
import { paletteFor } from '../colour.ts';
import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import type { Io } from '../io.ts';
import { portOption } from '../port-option.ts';
import { storeLocation } from '../session/store-location.ts';
import { withRuntime } from '../session/with-runtime.ts';
import { packageVersion } from '../version.ts';
import { jsonText } from '../view/json-line.ts';
import type { AgentSource } from './agent-source.ts';
import { openingText } from './serve-lines.ts';
import { daemonOptions, type ServeOptions } from './serve-options.ts';
import { DEFAULT_PORT, startOn } from './serve-port.ts';
import { tellReloads } from './tell-reloads.ts';

/** What is served, and to whom that is told. */
interface Serving {
  readonly source: AgentSource;
  readonly catalog: AgentCatalog;
  readonly options: ServeOptions;
  readonly isDev: boolean;
  readonly version: string;
  readonly port: number;
  readonly io: Io;
  readonly onError: (thrown: unknown) => void;
}

/** Serves the agents until the process is told to stop. */
export async function keepServing(
  source: AgentSource,
  options: ServeOptions,
  { dev: isDev, context }: { readonly dev: boolean; readonly context: CommandContext },
): Promise<ExitCode> {
  const { io, runtimes } = context;
  const { cwd, env, clock } = io;
  const port = options.port === undefined ? DEFAULT_PORT : portOption('--port', options.port);
  const onError = tellError(io);
  context.endsWhenStopped();
  const [{ createCatalog }] = await Promise.all([
    import('../../server/catalog/create-catalog.ts'),
    import('../../server/start-daemon.ts'),
    import('../../telemetry/create-telemetry.ts'),
  ]);
  const load = (path: string, name?: string) =>
    runtimes.loadAgent(path, { cwd, env, ...(name === undefined ? {} : { name }) });
  const catalog = await createCatalog({ find: source.find, load, now: () => clock.now(), cwd });
  const opened = {
    ...(options.store === undefined ? {} : { store: options.store }),
    ...(options.durability === undefined ? {} : { durability: options.durability }),
    ...{ onError, ownTelemetry: true as const },
  };
  try {
    const version = packageVersion();
    const serving = { source, catalog, options, isDev, version, port, io, onError };
    await withRuntime(context, opened, (runtime) => serveRuntime(runtime, serving));
  } finally {
    await catalog.close();
  }
  return EXIT.ok;
}

async function serveRuntime(runtime: Runtime, serving: Serving): Promise<void> {
  const { source, catalog, isDev, io, onError } = serving;
  const telemetry = await observe(runtime, serving);
  const daemon = await start(runtime, serving, telemetry.metrics);
  const stopTelling = isDev ? await tellReloads(catalog, source.roots, io, onError) : undefined;
  await announce(daemon, serving);
  try {
    await stopped(io.signal);
    say(io)(
      paletteFor(io.stderr).dim(
        'Closing: what runs is kept, and goes on at the next start. Ctrl-C again ends at once.',
      ),
    );
  } finally {
    stopTelling?.();
    await daemon.close();
    await telemetry.close();
  }
}

/** Traces and metrics of all that the runtime does. */
async function observe(runtime: Runtime, { version, io: { env, clock }, onError }: Serving) {
  const { createTelemetry } = await import('../../telemetry/create-telemetry.ts');
  const recall = (stream: string) => readAnyEvent(runtime.store, stream, 1);
  const telemetry = createTelemetry({ env, version, clock, onError, recall });
  const unwatch = runtime.watch(telemetry.observe);
  return {
    metrics: () => telemetry.prometheus(),
    async close() {
      unwatch();
      await telemetry.close();
    },
  };
}

async function start(
  runtime: Runtime,
  { catalog, options, isDev, version, port, io, onError }: Serving,
  metrics: () => string,
): Promise<Daemon> {
  const { startDaemon } = await import('../../server/start-daemon.ts');
  const { clock, env } = io;
  return startOn(port, isDev && options.port === undefined, (on) =>
    startDaemon({
      ...{ runtime, catalog, clock, env, version, dev: isDev, port: on },
      ...{ metrics, onError, onNote: say(io) },
      ...daemonOptions(options),
    }),
  );
}

async function announce(
  { url, port }: Daemon,
  { source: { isTour }, catalog, options, isDev, version, io }: Serving,
): Promise<void> {
  if (options.json === true) return io.stdout.write(jsonText({ url, port }));
  const opened = { url, version, isDev, isTour, store: storeLocation(options.store, io) };
  await io.stderr.write(openingText(opened, catalog.list(), { paint: paletteFor(io.stderr), cwd: io.cwd }));
}

const stopped = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

const say =
  ({ stderr }: Io) =>
  (text: string): void =>
    void stderr.write(text === '' ? '' : `${text}\n`);

const tellError =
  (io: Io) =>
  (thrown: unknown): void => {
    const paint = paletteFor(io.stderr);
    const { code, message, hint = '', cause } = toRuntimeError(thrown);
    say(io)(`${paint.red('error:')} ${message}${hint === '' ? '' : `\n  → ${hint}`}`);
    // A mistake of ours: whoever is to mend it needs its place.
    if (code === 'internal' && cause !== undefined)
      say(io)(paint.dim(`  ${cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)}`));
  };
