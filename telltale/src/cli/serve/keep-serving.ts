import type { Daemon } from '../../server/start-daemon.ts';
import type { Runtime } from '../../session/runtime-types.ts';
import { paletteFor } from '../colour.ts';
import type { CommandContext } from '../command.ts';
import { keepDaemonFile } from '../daemon-files.ts';
import type { ExitCode } from '../exit-code.ts';
import { portOption } from '../port-option.ts';
import { shownLocation, storeLocation } from '../session/store-location.ts';
import { signer } from '../signer.ts';
import { jsonText } from '../view/json-line.ts';
import type { AgentSource } from './agent-source.ts';
import { type Going, observe, say, stopped, withAgents } from './keep-going.ts';
import { keepTellingEdits } from './keep-telling-edits.ts';
import { openingText } from './serve-lines.ts';
import { daemonOptions, LOOPBACK, type ServeOptions } from './serve-options.ts';
import { DEFAULT_PORT, startOn } from './serve-port.ts';
import { tellReloads } from './tell-reloads.ts';
import { watchHangs } from './watch-hangs.ts';

/** What is served, and to whom that is told. */
interface Serving extends Going {
  readonly source: AgentSource;
  readonly options: ServeOptions;
  readonly isDev: boolean;
  readonly port: number;
}

const NO_EFFECT = '--require-token has no effect any more: every request needs a token. Leave it out.';

/** Serves the agents until the process is told to stop. */
export function keepServing(
  source: AgentSource,
  options: ServeOptions,
  { dev: isDev, context }: { readonly dev: boolean; readonly context: CommandContext },
): Promise<ExitCode> {
  if (options.requireToken === true) say(context.io)(NO_EFFECT);
  const port = options.port === undefined ? DEFAULT_PORT : portOption('--port', options.port);
  const how = { role: isDev ? 'dev' : 'serve', mayBeBroken: isDev, options };
  const loadRest = () => import('../../server/start-daemon.ts');
  return withAgents(source, { ...how, loadRest }, context, (runtime, going) =>
    serveRuntime(runtime, { ...going, source, options, isDev, port }),
  );
}

async function serveRuntime(runtime: Runtime, serving: Serving): Promise<void> {
  const { source, catalog, isDev, io, onError } = serving;
  const telemetry = await observe(runtime, serving);
  const daemon = await start(runtime, serving, telemetry.metrics);
  const forgetFile = await keepFile(daemon, serving);
  const stopTelling = isDev ? await tellReloads(catalog, source.roots, io, onError) : undefined;
  await announce(daemon, serving);
  const forgetEdits = await keepTellingEdits(runtime.store, serving, serving.options);
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

/** Where other commands of this user find the daemon. It serves without that, too: its link is printed. */
async function keepFile(
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
