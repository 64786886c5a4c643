import { hostname } from 'node:os';
import { toRuntimeError } from '../../kernel/runtime-error.ts';
import type { AgentCatalog, CatalogEntry } from '../../server/catalog/agent-catalog.ts';
import { readAnyEvent } from '../../session/log/read-log.ts';
import { openAmong } from '../../session/reviews/review-table.ts';
import type { Runtime } from '../../session/runtime-types.ts';
import { paletteFor } from '../colour.ts';
import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import type { Io } from '../io.ts';
import { asTyped } from '../session/naming-store.ts';
import { openEarly } from '../session/open-early.ts';
import { isOfOneMachine, storeFlag, storeLocation } from '../session/store-location.ts';
import { withRuntime } from '../session/with-runtime.ts';
import { usage } from '../usage.ts';
import { packageVersion } from '../version.ts';
import { wholeNumber } from '../whole-number.ts';
import type { AgentSource } from './agent-source.ts';
import { fleetMetrics } from './fleet-metrics.ts';

/** What a process that stays has at hand. */
export interface Going {
  readonly catalog: AgentCatalog;
  readonly version: string;
  readonly io: Io;
  readonly onError: (thrown: unknown) => void;
}

export interface GoingOptions {
  /** What it is called in a fleet. */
  readonly role: string;
  /** Whether it starts where no agent can be loaded. */
  readonly mayBeBroken: boolean;
  readonly options: {
    readonly store?: string;
    readonly durability?: 'power' | 'process';
    readonly capacity?: string;
  };
  /** Loads the rest of what is needed, beside the manifests. */
  readonly loadRest: () => Promise<unknown>;
}

/** Sessions and runs that a process of a fleet works on at once. They mostly wait for models. */
const CAPACITY = 256;

/** Reads the agents and opens the store, works until it is told to stop, and closes both. */
export async function withAgents(
  source: Pick<AgentSource, 'find' | 'folders' | 'check'>,
  { role, mayBeBroken, options, loadRest }: GoingOptions,
  context: CommandContext,
  work: (runtime: Runtime, going: Going) => Promise<void>,
): Promise<ExitCode> {
  const { io } = context;
  const capacity =
    options.capacity === undefined
      ? isOfOneMachine(storeLocation(options.store, io))
        ? Number.POSITIVE_INFINITY
        : CAPACITY
      : wholeNumber('--capacity', options.capacity);
  const onError = tellError(io, storeFlag(options.store));
  context.endsWhenStopped();
  const early = openEarly(context, options);
  await early?.begun;
  try {
    const catalog = await readCatalog(source, mayBeBroken, context, loadRest);
    try {
      const version = packageVersion();
      const opened = {
        ...(options.store === undefined ? {} : { store: options.store }),
        ...(options.durability === undefined ? {} : { durability: options.durability }),
        ...(early === undefined ? {} : { early }),
        onError,
        ownTelemetry: true as const,
        served: source.folders,
        member: { role, host: hostname(), version, capacity, agents: () => usable(catalog) },
      };
      await withRuntime(context, opened, (runtime) => work(runtime, { catalog, version, io, onError }));
    } finally {
      await catalog.close();
    }
  } finally {
    await early?.close();
  }
  return EXIT.ok;
}

const usable = (catalog: AgentCatalog) => catalog.list().flatMap(({ agent }) => agent ?? []);

/** The agents, and what serves them, which is loaded meanwhile. */
async function readCatalog(
  { find, check }: Pick<AgentSource, 'find' | 'check'>,
  mayBeBroken: boolean,
  { io, runtimes }: CommandContext,
  loadRest: () => Promise<unknown>,
): Promise<AgentCatalog> {
  const { cwd, env, clock } = io;
  const [{ createCatalog }] = await Promise.all([
    import('../../server/catalog/create-catalog.ts'),
    loadRest(),
    import('../../telemetry/create-telemetry.ts'),
  ]);
  const load = async (path: string, name?: string) => {
    await check(path);
    return runtimes.loadAgent(path, { cwd, env, ...(name === undefined ? {} : { name }) });
  };
  const catalog = await createCatalog({ find, load, now: () => clock.now(), cwd });
  // Who develops mends it while it runs; a daemon that can start nothing is a mistake at its start.
  if (!mayBeBroken && catalog.list().every(({ agent }) => agent === undefined))
    throw noneUsable(catalog.list());
  return catalog;
}

/** Traces and metrics of all that the runtime does. */
export async function observe(runtime: Runtime, { version, io: { env, clock }, onError }: Going) {
  const { createTelemetry } = await import('../../telemetry/create-telemetry.ts');
  const recall = (stream: string) => readAnyEvent(runtime.store, stream, 1);
  const stillOpen = (reviews: readonly string[]) => openAmong(runtime.store, reviews);
  const telemetry = createTelemetry({ env, version, clock, onError, recall, stillOpen });
  const unwatch = runtime.watch(telemetry.observe);
  return {
    async metrics() {
      await telemetry.refresh();
      // A database that does not answer leaves the other metrics as they are.
      const fleet = await fleetMetrics(runtime).catch(() => '');
      return `${await telemetry.prometheus()}${fleet}`;
    },
    async close() {
      unwatch();
      await telemetry.close();
    },
  };
}

export const stopped = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

export const say =
  ({ stderr }: Io) =>
  (text: string): void =>
    void stderr.write(text === '' ? '' : `${text}\n`);

const tellError =
  (io: Io, flag: string) =>
  (thrown: unknown): void => {
    const paint = paletteFor(io.stderr);
    const { code, message, hint = '', cause } = toRuntimeError(thrown);
    const told = code === 'store_unreachable' ? `${hint} Telltale tries again by itself.`.trim() : hint;
    say(io)(`${paint.red('error:')} ${message}${told === '' ? '' : `\n  → ${asTyped(told, io, flag)}`}`);
    // A mistake of ours: whoever is to mend it needs its place.
    if (code === 'internal' && cause !== undefined)
      say(io)(paint.dim(`  ${cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)}`));
  };

function noneUsable(entries: readonly CatalogEntry[]) {
  const [first] = entries.flatMap(({ problems }) => problems);
  const where = first === undefined ? '' : ` ${first.file}:${first.line}:${first.column}: ${first.message}`;
  return usage(`No agent can be started.${where}`, first?.hint ?? 'To see all errors: telltale validate');
}
