import { toRuntimeError } from '../../kernel/runtime-error.ts';
import type { AgentCatalog, CatalogEntry } from '../../server/catalog/agent-catalog.ts';
import type { Daemon } from '../../server/start-daemon.ts';
import { readAnyEvent } from '../../session/log/read-log.ts';
import type { Runtime } from '../../session/runtime-types.ts';
import { paletteFor } from '../colour.ts';
import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import type { Io } from '../io.ts';
import { portOption } from '../port-option.ts';
import { openEarly } from '../session/open-early.ts';
import { storeLocation } from '../session/store-location.ts';
import { withRuntime } from '../session/with-runtime.ts';
import { usage } from '../usage.ts';
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
  const { io } = context;
  const port = options.port === undefined ? DEFAULT_PORT : portOption('--port', options.port);
  const onError = tellError(io);
  context.endsWhenStopped();
  const early = openEarly(context, options);
  await early?.begun;
  try {
    const catalog = await readCatalog(source, isDev, context);
    try {
      const opened = {
        ...(options.store === undefined ? {} : { store: options.store }),
        ...(options.durability === undefined ? {} : { durability: options.durability }),
        ...(early === undefined ? {} : { early }),
        ...{ onError, ownTelemetry: true as const },
      };
      const version = packageVersion();
      const serving = { source, catalog, options, isDev, version, port, io, onError };
      await withRuntime(context, opened, (runtime) => serveRuntime(runtime, serving));
    } finally {
      await catalog.close();
    }
  } finally {
    await early?.close();
  }
  return EXIT.ok;
}

/** The agents, and what serves them, which is loaded meanwhile. */
async function readCatalog(
  { find }: AgentSource,
  isDev: boolean,
  { io, runtimes }: CommandContext,
): Promise<AgentCatalog> {
  const { cwd, env, clock } = io;
  const [{ createCatalog }] = await Promise.all([
    import('../../server/catalog/create-catalog.ts'),
    import('../../server/start-daemon.ts'),
    import('../../telemetry/create-telemetry.ts'),
  ]);
  const load = (path: string, name?: string) =>
    runtimes.loadAgent(path, { cwd, env, ...(name === undefined ? {} : { name }) });
  const catalog = await createCatalog({ find, load, now: () => clock.now(), cwd });
  // Who develops mends it while it runs; a daemon that can start nothing is a mistake at its start.
  if (!isDev && catalog.list().every(({ agent }) => agent === undefined)) throw noneUsable(catalog.list());
  return catalog;
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

function noneUsable(entries: readonly CatalogEntry[]) {
  const [first] = entries.flatMap(({ problems }) => problems);
  const where = first === undefined ? '' : ` ${first.file}:${first.line}:${first.column}: ${first.message}`;
  return usage(
    `None of the agents can be started.${where}`,
    first?.hint ?? 'See all that is wrong: telltale validate',
  );
}
