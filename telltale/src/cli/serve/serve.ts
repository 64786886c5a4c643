import { existsSync, readFileSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { Runtime } from '../../agent/runtime-types.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { AgentCatalog } from '../../server/catalog/agent-catalog.ts';
import type { HangWatch } from '../../server/recovery/recovery-guard.ts';
import type { Daemon, DaemonOptions } from '../../server/start-daemon.ts';
import type { CommandContext, ExitCode } from '../command.ts';
import { keepDaemonFile } from '../daemon-files.ts';
import { type Io, paletteFor } from '../io.ts';
import { portOption } from '../options.ts';
import { signer } from '../program.ts';
import { shownLocation, storeLocation } from '../session/store-options.ts';
import { jsonText } from '../view/json-text.ts';
import { type AgentSource, devAgents, servedAgents } from './agent-source.ts';
import {
  type LongRunning,
  observe,
  openingText,
  reloadText,
  runUntilStopped,
  say,
  stopped,
} from './long-running.ts';
import { reportEditsOnReload } from './worker.ts';

/** `telltale serve`. */
export async function serve(
  manifests: readonly string[],
  options: ServeOptions,
  context: CommandContext,
): Promise<ExitCode> {
  return serveUntilStopped(await servedAgents(manifests, context.io.cwd), options, { dev: false, context });
}

/** `telltale dev`. */
export async function dev(
  dir: string | undefined,
  options: ServeOptions,
  context: CommandContext,
): Promise<ExitCode> {
  return serveUntilStopped(await devAgents(dir, context.io.cwd), options, { dev: true, context });
}

/** What is served, and how it is announced. */
interface Serving extends LongRunning {
  readonly source: AgentSource;
  readonly options: ServeOptions;
  readonly isDev: boolean;
  readonly port: number;
}

const NO_EFFECT = '--require-token has no effect any more: every request needs a token. Leave it out.';

/** Serves the agents until the process is told to stop. */
function serveUntilStopped(
  source: AgentSource,
  options: ServeOptions,
  { dev: isDev, context }: { readonly dev: boolean; readonly context: CommandContext },
): Promise<ExitCode> {
  if (options.requireToken === true) say(context.io)(NO_EFFECT);
  const port = options.port === undefined ? DEFAULT_PORT : portOption('--port', options.port);
  const how = { role: isDev ? 'dev' : 'serve', mayBeBroken: isDev, options };
  const loadRest = () => import('../../server/start-daemon.ts');
  return runUntilStopped(source, { ...how, loadRest }, context, (runtime, going) =>
    serveRuntime(runtime, { ...going, source, options, isDev, port }),
  );
}

async function serveRuntime(runtime: Runtime, serving: Serving): Promise<void> {
  const { source, catalog, isDev, io, onError } = serving;
  const telemetry = await observe(runtime, serving);
  const daemon = await start(runtime, serving, telemetry.metrics);
  const forgetFile = await keepDaemonFileWhile(daemon, serving);
  const stopTelling = isDev ? await reportReloads(catalog, source.roots, io, onError) : undefined;
  await announce(daemon, serving);
  const forgetEdits = await reportEditsOnReload(runtime.store, serving, serving.options);
  try {
    await stopped(io.signal);
    say(io)(
      paletteFor(io.stderr).dim(
        runtime.fleet === undefined
          ? 'Stopping. Running sessions are saved and continue at the next start. Press Ctrl-C again to stop at once.'
          : 'Handing sessions over to other workers. Press Ctrl-C again to stop at once.',
      ),
    );
  } finally {
    stopTelling?.();
    forgetEdits();
    await daemon.close();
    await telemetry.close();
    await forgetFile();
  }
}

async function start(
  runtime: Runtime,
  { catalog, options, isDev, version, port, io, onError }: Serving,
  metrics: () => Promise<string>,
): Promise<Daemon> {
  const { startDaemon } = await import('../../server/start-daemon.ts');
  const { clock, env } = io;
  const hangWatch = runtime.fleet === undefined ? watchHangs(runtime.store.location, io, onError) : undefined;
  return startOn(port, isDev && options.port === undefined, (on) =>
    startDaemon({
      runtime,
      catalog,
      clock,
      env,
      version,
      dev: isDev,
      port: on,
      startedBy: signer(),
      metrics,
      onError,
      onNote: say(io),
      hangWatch,
      ...daemonOptions(options),
    }),
  );
}

/**
 * Writes the file by which other commands of this user find the daemon. The daemon works without it, because its link
 * is printed.
 */
async function keepDaemonFileWhile(
  { url, port, token }: Daemon,
  { options: { host = LOOPBACK, store }, io, onError }: Serving,
): Promise<() => Promise<void>> {
  try {
    return await keepDaemonFile(io, {
      url,
      host,
      port,
      token,
      startedAt: io.clock.now(),
      store: shownLocation(storeLocation(store, io)),
    });
  } catch (thrown) {
    onError(thrown);
    return async () => undefined;
  }
}

async function announce(
  { url, port, token, link }: Daemon,
  { source: { isTour }, catalog, options, isDev, version, io }: Serving,
): Promise<void> {
  if (options.json === true) return io.stdout.write(jsonText({ url, port, token, link }));
  const opened = { link, version, isDev, isTour, store: shownLocation(storeLocation(options.store, io)) };
  await io.stderr.write(openingText(opened, catalog.list(), { paint: paletteFor(io.stderr), cwd: io.cwd }));
}

const DEFAULT_PORT = 4800;
/** How many further ports are tried if one is taken. */
const MORE_PORTS = 9;

/** Listens on the port, or on one of the next ones if it is taken and nobody asked for exactly this one. */
async function startOn<Started>(
  port: number,
  mayMove: boolean,
  start: (port: number) => Promise<Started>,
): Promise<Started> {
  for (let tried = port; ; tried++)
    try {
      return await start(tried);
    } catch (thrown) {
      const isTaken =
        thrown instanceof RuntimeError &&
        thrown.code === 'cannot_listen' &&
        (thrown.cause as NodeJS.ErrnoException | undefined)?.code === 'EADDRINUSE';
      if (!isTaken || !mayMove || tried >= port + MORE_PORTS) throw thrown;
    }
}

/** Reloads agents when files below the roots change, and reports the result, until the process is told to stop. */
async function reportReloads(
  catalog: AgentCatalog,
  roots: readonly string[],
  io: Io,
  onError: (thrown: unknown) => void,
): Promise<() => void> {
  const { watchCatalog } = await import('../../server/catalog/watch-catalog.ts');
  const watching = watchCatalog(catalog, { roots, clock: io.clock, onError });
  let before = catalog.list();
  const unlisten = catalog.onChange(() => {
    const now = catalog.list();
    void io.stderr.write(reloadText(before, now, { paint: paletteFor(io.stderr), cwd: io.cwd }));
    before = now;
  });
  return () => {
    unlisten();
    watching.close();
  };
}

/** How long one recovery may block the process. */
const HANG_MS = 30_000;
const BEAT_MS = 250;

/**
 * Runs in its own thread. If the event loop is blocked for too long during a recovery, it notes which one and ends the
 * process. It counts its own ticks, so a suspended process or a sleeping machine does not look blocked.
 */
const WATCH = `
const { parentPort, workerData } = require('node:worker_threads');
const { writeFileSync, writeSync } = require('node:fs');
const { beats, marker, hangMs, beatMs } = workerData;
const view = new Int32Array(beats);
const open = new Set();
let last = 0;
let stalled = 0;
parentPort.on('message', ({ begin, past }) => {
  if (begin !== undefined) open.add(begin);
  if (past !== undefined) open.delete(past);
});
setInterval(() => {
  const now = Atomics.load(view, 0);
  stalled = now === last ? stalled + beatMs : 0;
  last = now;
  if (stalled < hangMs || open.size === 0) return;
  const streams = [...open];
  try {
    writeFileSync(marker, JSON.stringify(streams), { mode: 0o600 });
  } catch {} // The next start then counts a crash instead of a hang.
  writeSync(2, 'error: The process hung for ' + hangMs / 1000 + ' s while it recovered ' + streams.slice(0, 5).join(', ') + (streams.length > 5 ? ' and others' : '') + ', and is ended. Start it again: what hangs again is quarantined, and the rest goes on.\\n');
  process.kill(process.pid, 'SIGKILL');
}, beatMs);
`;

/** The path is next to the file of a SQLite store. Undefined for a store in memory or in a database. */
function watchHangs(
  location: string,
  io: Pick<Io, 'cwd' | 'env'>,
  onError: (thrown: unknown) => void,
): HangWatch | undefined {
  if (!location.startsWith('sqlite:')) return undefined;
  const marker = `${resolve(io.cwd, location.slice('sqlite:'.length))}-hung`;
  const hungBefore = readMarker(marker);
  const asked = Number(io.env.TELLTALE_HANG_SECONDS);
  const hangMs = asked > 0 ? asked * 1_000 : HANG_MS;
  const beats = new SharedArrayBuffer(4);
  const view = new Int32Array(beats);
  const beat = setInterval(() => Atomics.add(view, 0, 1), BEAT_MS).unref();
  const workerData = { beats, marker, hangMs, beatMs: BEAT_MS };
  // The flags of the process could make Node read the text as a module.
  const worker = new Worker(WATCH, { eval: true, execArgv: [], workerData });
  worker.on('error', onError); // Without this thread, a hang is not noticed. Everything else works.
  worker.unref();
  return {
    hungBefore,
    begin: (stream) => worker.postMessage({ begin: stream }),
    past: (stream) => worker.postMessage({ past: stream }),
    async close() {
      clearInterval(beat);
      await worker.terminate();
    },
  };
}

/** Read only once, because it is about the previous process. */
function readMarker(marker: string): readonly string[] {
  try {
    const streams: unknown = JSON.parse(readFileSync(marker, 'utf8'));
    rmSync(marker, { force: true });
    return Array.isArray(streams) ? streams.map(String) : [];
  } catch {
    return []; // There is no marker, or it was not written completely.
  }
}

export interface ServeOptions {
  readonly store?: string;
  readonly durability?: 'power' | 'process';
  readonly capacity?: string;
  readonly port?: string;
  readonly host?: string;
  readonly allowHost?: readonly string[];
  readonly origin?: readonly string[];
  /** Accepted but without effect: every request needs a token. */
  readonly requireToken?: true;
  /** False with `--no-console`. */
  readonly console?: boolean;
  readonly json?: true;
}

const LOOPBACK = '127.0.0.1';
const WEB = fileURLToPath(new URL('../../../web', import.meta.url));

/** The daemon's options, without the port. */
const daemonOptions = ({
  host = LOOPBACK,
  allowHost,
  origin,
  console,
}: ServeOptions): Pick<DaemonOptions, 'host' | 'web' | 'allowHosts' | 'origins'> => ({
  host,
  ...(console === false || !existsSync(WEB) ? {} : { web: WEB }),
  ...(allowHost === undefined ? {} : { allowHosts: allowHost }),
  ...(origin === undefined ? {} : { origins: origin }),
});
