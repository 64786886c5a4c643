import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RuntimeError, toRuntimeError } from '../../kernel/runtime-error.ts';
import type { AgentCatalog } from '../../server/catalog/agent-catalog.ts';
import type { DaemonOptions } from '../../server/start-daemon.ts';
import { readAnyEvent } from '../../session/log/read-log.ts';
import { paletteFor } from '../colour.ts';
import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { storeLocation } from '../session/store-location.ts';
import { withRuntime } from '../session/with-runtime.ts';
import { usage } from '../usage.ts';
import { packageVersion } from '../version.ts';
import { jsonText } from '../view/json-line.ts';
import { wholeNumber } from '../whole-number.ts';
import { agentFilesIn, namedAgentFiles } from './agent-files.ts';
import { layOutTour } from './lay-out-tour.ts';
import { openingText, reloadText } from './serve-lines.ts';

export interface ServeOptions {
  readonly store?: string;
  readonly durability?: 'power' | 'process';
  readonly port?: string;
  readonly host?: string;
  readonly allowHost?: readonly string[];
  readonly origin?: readonly string[];
  readonly requireToken?: true;
  /** False with `--no-console`. */
  readonly console?: boolean;
  readonly json?: true;
}

export const DEFAULT_PORT = 4800;
const LOOPBACK = '127.0.0.1';
const MAX_PORT = 65_535;
/** Ports that `dev` tries behind the one that is taken. */
const MORE_PORTS = 9;
const WEB = fileURLToPath(new URL('../../../web', import.meta.url));

/** Where agents come from, and how that is told. */
interface Source {
  readonly find: () => Promise<readonly string[]>;
  /** Folders in which new ones may come. */
  readonly roots: readonly string[];
  readonly isTour: boolean;
}

/** `telltale serve`. */
export async function serve(
  manifests: readonly string[],
  options: ServeOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { cwd } = context.io;
  const find = () => (manifests.length > 0 ? namedAgentFiles(manifests, cwd) : agentFilesIn(cwd));
  if ((await find()).length === 0) throw noAgents(manifests);
  return keepServing({ find, roots: [cwd], isTour: false }, options, { dev: false, context });
}

/** `telltale dev`. */
export async function dev(
  dir: string | undefined,
  options: ServeOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { cwd } = context.io;
  return keepServing(await sourceOf(dir, cwd), options, { dev: true, context });
}

async function sourceOf(dir: string | undefined, cwd: string): Promise<Source> {
  if (dir === undefined) {
    if ((await agentFilesIn(cwd)).length > 0)
      return { find: () => agentFilesIn(cwd), roots: [cwd], isTour: false };
    const file = await layOutTour(cwd);
    return {
      // An agent that is written meanwhile is there beside it.
      find: async () => [...(await agentFilesIn(cwd)), file],
      roots: [cwd],
      isTour: true,
    };
  }
  const path = resolve(cwd, dir);
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) throw noSuchFolder(dir);
  const root = found.isDirectory() ? path : resolve(path, '..');
  return { find: () => namedAgentFiles([dir], cwd), roots: [root], isTour: false };
}

async function keepServing(
  { find, roots, isTour }: Source,
  options: ServeOptions,
  { dev: isDev, context }: { readonly dev: boolean; readonly context: CommandContext },
): Promise<ExitCode> {
  const { io, runtimes } = context;
  const { cwd, env, clock, signal } = io;
  const port = options.port === undefined ? DEFAULT_PORT : portOf(options.port);
  const paint = paletteFor(io.stderr);
  const say = (text: string) => void io.stderr.write(text === '' ? '' : `${text}\n`);
  const onError = (thrown: unknown) => {
    const { code, message, hint = '', cause } = toRuntimeError(thrown);
    say(`${paint.red('error:')} ${message}${hint === '' ? '' : `\n  → ${hint}`}`);
    // A mistake of ours: whoever is to mend it needs its place.
    if (code === 'internal' && cause !== undefined)
      say(paint.dim(`  ${cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)}`));
  };
  context.endsWhenStopped();
  const [{ createCatalog }, { startDaemon }, { createTelemetry }] = await Promise.all([
    import('../../server/catalog/create-catalog.ts'),
    import('../../server/start-daemon.ts'),
    import('../../telemetry/create-telemetry.ts'),
  ]);
  const load = (path: string, name?: string) =>
    runtimes.loadAgent(path, { cwd, env, ...(name === undefined ? {} : { name }) });
  const catalog = await createCatalog({ find, load, now: () => clock.now(), cwd });
  const opened = {
    ...(options.store === undefined ? {} : { store: options.store }),
    ...(options.durability === undefined ? {} : { durability: options.durability }),
  };
  try {
    await withRuntime(context, { ...opened, onError, ownTelemetry: true }, async (runtime) => {
      const version = packageVersion();
      const recall = (stream: string) => readAnyEvent(runtime.store, stream, 1);
      const telemetry = createTelemetry({ env, version, clock, onError, recall });
      const unwatch = runtime.watch(telemetry.observe);
      const daemon = await startOn(port, isDev && options.port === undefined, (on) =>
        startDaemon({
          ...{ runtime, catalog, clock, env, version, dev: isDev, port: on, onError },
          host: options.host ?? LOOPBACK,
          metrics: () => telemetry.prometheus(),
          onNote: say,
          ...(options.console === false || !existsSync(WEB) ? {} : { web: WEB }),
          ...(options.requireToken === true ? { requireToken: true } : {}),
          ...(options.allowHost === undefined ? {} : { allowHosts: options.allowHost }),
          ...(options.origin === undefined ? {} : { origins: options.origin }),
        } satisfies DaemonOptions),
      );
      const watching = isDev ? await watchFor(catalog, roots, context, onError) : undefined;
      if (options.json === true) await io.stdout.write(jsonText({ url: daemon.url, port: daemon.port }));
      else
        await io.stderr.write(
          openingText(
            { url: daemon.url, version, isDev, isTour, store: storeLocation(options.store, io) },
            catalog.list(),
            { paint, cwd },
          ),
        );
      try {
        if (!signal.aborted)
          await new Promise<void>((done) => signal.addEventListener('abort', () => done(), { once: true }));
        say(
          paint.dim('Closing: what runs is kept, and goes on at the next start. Ctrl-C again ends at once.'),
        );
      } finally {
        watching?.();
        await daemon.close();
        unwatch();
        await telemetry.close();
      }
    });
  } finally {
    await catalog.close();
  }
  return EXIT.ok;
}

async function watchFor(
  catalog: AgentCatalog,
  roots: readonly string[],
  { io }: CommandContext,
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

/** On that port, or on one of the next ones where it is taken and nobody asked for just this one. */
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

function portOf(text: string): number {
  const port = wholeNumber('--port', text, 0);
  if (port <= MAX_PORT) return port;
  throw usage(`--port '${text}' is no port.`, `Ports go up to ${MAX_PORT}.`);
}

const noAgents = (manifests: readonly string[]) =>
  usage(
    manifests.length === 0
      ? 'No agent is in this folder.'
      : `No agent is in ${manifests.map((each) => `'${each}'`).join(', ')}.`,
    'Name the manifests of agents, or folders of them: telltale serve agents/. Or make a project: telltale init',
  );

const noSuchFolder = (dir: string) =>
  usage(
    `There is no '${dir}'.`,
    'Name a folder of agents or a manifest, or leave it out: telltale dev then shows an agent to try.',
  );
