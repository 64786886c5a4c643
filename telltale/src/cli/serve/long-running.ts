import { hostname } from 'node:os';
import { relative } from 'node:path';
import { readAnyEvent } from '../../agent/log/read-log.ts';
import { openAmong } from '../../agent/reviews/review-table.ts';
import type { Runtime } from '../../agent/runtime-types.ts';
import { codeIn } from '../../cluster/fleet.ts';
import { toRuntimeError } from '../../lib/errors.ts';
import type { Palette } from '../../manifest/format-diagnostic.ts';
import type { AgentCatalog, CatalogEntry } from '../../server/catalog/agent-catalog.ts';
import { type CommandContext, EXIT, type ExitCode } from '../command.ts';
import { type Io, paletteFor } from '../io.ts';
import { usage, wholeNumber } from '../options.ts';
import { packageVersion } from '../program.ts';
import { asTyped, isOfOneMachine, storeFlag, storeLocation } from '../session/store-options.ts';
import { openEarly, withRuntime } from '../session/with-runtime.ts';
import type { AgentSource } from './agent-source.ts';

/** What a long-running process needs. */
export interface LongRunning {
  readonly catalog: AgentCatalog;
  readonly version: string;
  readonly io: Io;
  readonly onError: (thrown: unknown) => void;
}

export interface LongRunningOptions {
  /** The name of this kind of process in a fleet. */
  readonly role: string;
  /** Whether it starts even if no agent can be loaded. */
  readonly mayBeBroken: boolean;
  readonly options: {
    readonly store?: string;
    readonly durability?: 'power' | 'process';
    readonly capacity?: string;
  };
  /** Loads the other modules while manifests are read. */
  readonly loadRest: () => Promise<unknown>;
}

/** How many sessions and runs a process works on at once. Most of them wait for models. */
const CAPACITY = 256;

/** Reads the agents and opens the store, runs until the process is told to stop, and closes both. */
export async function runUntilStopped(
  source: Pick<AgentSource, 'find' | 'folders' | 'check'>,
  { role, mayBeBroken, options, loadRest }: LongRunningOptions,
  context: CommandContext,
  work: (runtime: Runtime, going: LongRunning) => Promise<void>,
): Promise<ExitCode> {
  const { io } = context;
  const capacity =
    options.capacity === undefined
      ? isOfOneMachine(storeLocation(options.store, io))
        ? Number.POSITIVE_INFINITY
        : CAPACITY
      : wholeNumber('--capacity', options.capacity);
  const onError = reportError(io, storeFlag(options.store));
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

/** The agents. The code that serves them loads at the same time. */
async function readCatalog(
  { find, check }: Pick<AgentSource, 'find' | 'check'>,
  mayBeBroken: boolean,
  { io, runtimes }: CommandContext,
  loadRest: () => Promise<unknown>,
): Promise<AgentCatalog> {
  const { cwd, env, clock } = io;
  const [{ createCatalog }] = await Promise.all([
    import('../../server/catalog/agent-catalog.ts'),
    loadRest(),
    import('../../telemetry/create-telemetry.ts'),
  ]);
  const load = async (path: string, name?: string) => {
    await check(path);
    return runtimes.loadAgent(path, { cwd, env, ...(name === undefined ? {} : { name }) });
  };
  const catalog = await createCatalog({ find, load, now: () => clock.now(), cwd });
  // `dev` may start with a broken agent, which its author then fixes. A daemon with no working agent should not start.
  if (!mayBeBroken && catalog.list().every(({ agent }) => agent === undefined))
    throw noneUsable(catalog.list());
  return catalog;
}

/** Traces and metrics of everything the runtime does. */
export async function observe(runtime: Runtime, { version, io: { env, clock }, onError }: LongRunning) {
  const { createTelemetry } = await import('../../telemetry/create-telemetry.ts');
  const recall = (stream: string) => readAnyEvent(runtime.store, stream, 1);
  const stillOpen = (reviews: readonly string[]) => openAmong(runtime.store, reviews);
  const telemetry = createTelemetry({ env, version, clock, onError, recall, stillOpen });
  const unwatch = runtime.watch(telemetry.observe);
  return {
    async metrics() {
      await telemetry.refresh();
      // The other metrics don't depend on the database.
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

const reportError =
  (io: Io, flag: string) =>
  (thrown: unknown): void => {
    const paint = paletteFor(io.stderr);
    const { code, message, hint = '', cause } = toRuntimeError(thrown);
    const told = code === 'store_unreachable' ? `${hint} Telltale tries again by itself.`.trim() : hint;
    say(io)(`${paint.red('error:')} ${message}${told === '' ? '' : `\n  → ${asTyped(told, io, flag)}`}`);
    // This is a bug of ours, and fixing it takes its stack trace.
    if (code === 'internal' && cause !== undefined)
      say(io)(paint.dim(`  ${cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)}`));
  };

function noneUsable(entries: readonly CatalogEntry[]) {
  const [first] = entries.flatMap(({ problems }) => problems);
  const where = first === undefined ? '' : ` ${first.file}:${first.line}:${first.column}: ${first.message}`;
  return usage(`No agent can be started.${where}`, first?.hint ?? 'To see all errors: telltale validate');
}

/** The part of `/metrics` about the process's capacity, and about the queue and the quarantine of its fleet. */
async function fleetMetrics({ places, fleet }: Pick<Runtime, 'places' | 'fleet'>): Promise<string> {
  let text = '';
  if (places !== undefined)
    text +=
      metric('telltale_capacity', 'gauge', 'The most sessions and runs that this process works on at once.', [
        ['', places.capacity],
      ]) +
      metric('telltale_working', 'gauge', 'Sessions and runs that this process has accepted.', [
        ['', places.taken],
      ]);
  if (fleet === undefined) return text;
  const { queue, laidAside } = await fleet.status();
  const byReason = new Map<string, number>();
  for (const { why } of laidAside) {
    const reason = codeIn(why) ?? 'other';
    byReason.set(reason, (byReason.get(reason) ?? 0) + 1);
  }
  const others = queue.laidAside - laidAside.length;
  if (others > 0) byReason.set('other', (byReason.get('other') ?? 0) + others);
  const reasons = [...byReason].map(([reason, count]): Sample => [`{reason="${reason}"}`, count]);
  return (
    text +
    metric('telltale_waiting', 'gauge', 'Sessions and runs of the fleet that wait for a worker.', [
      ['', queue.waiting],
    ]) +
    metric('telltale_waiting_seconds', 'gauge', 'How long the oldest of them has waited.', [
      ['', queue.lagMs / 1_000],
    ]) +
    metric('telltale_quarantined', 'gauge', 'Sessions and runs that no worker can continue.', reasons) +
    metric(
      'telltale_work_retries_total',
      'counter',
      'Failures of this process after which it offered the work to others again.',
      [['', fleet.figures().retries]],
    )
  );
}

type Sample = readonly [labels: string, value: number];

function metric(name: string, kind: string, help: string, samples: readonly Sample[]): string {
  const lines = samples.map(([labels, value]) => `${name}${labels} ${value}\n`);
  return `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n${lines.join('')}`;
}

export interface TextLook {
  readonly paint: Palette;
  readonly cwd: string;
}

export interface ListeningProcess {
  /** The address of the console, with a token. */
  readonly link: string;
  readonly version: string;
  readonly isDev: boolean;
  /** Whether this is the agent of the tour. */
  readonly isTour: boolean;
  readonly store: string;
}

/** Printed once the server listens. */
export function openingText(
  opened: ListeningProcess,
  agents: readonly CatalogEntry[],
  look: TextLook,
): string {
  const { paint } = look;
  const { link, version, isDev, isTour, store } = opened;
  const names = agents.filter(({ agent }) => agent !== undefined).map(({ name }) => name);
  const what = isTour
    ? `${names.join(', ')} (a sample in telltale-tour, because this folder has no agent)`
    : names.join(', ');
  return [
    `${paint.bold(`Telltale ${version}`)}${isDev ? paint.dim(' · reloads manifests when they change') : ''}`,
    `  console  ${paint.cyan(link)}`,
    `  agents   ${what === '' ? 'none can be started' : what}`,
    `  store    ${store}`,
    ...agents.flatMap((entry) => problemLines(entry, look)),
    paint.dim(
      isDev
        ? 'Open the link and start an agent. Anyone with the link can use this server, so keep it private. Ctrl-C stops it.'
        : 'Anyone with the link can use this server, so keep it private. Ctrl-C stops it.',
    ),
    '',
  ].join('\n');
}

/** Printed once a worker runs. */
export function workingText(
  { fleet, store, version }: { readonly fleet: string; readonly store: string; readonly version: string },
  agents: readonly CatalogEntry[],
  look: TextLook,
): string {
  const { paint } = look;
  const names = agents.filter(({ agent }) => agent !== undefined).map(({ name }) => name);
  return [
    paint.bold(`Telltale ${version}, a worker`),
    `  fleet    ${fleet}`,
    `  agents   ${names.join(', ')}`,
    `  store    ${store}`,
    ...agents.flatMap((entry) => problemLines(entry, look)),
    paint.dim('See the fleet: telltale fleet. Ctrl-C stops it.'),
    '',
  ].join('\n');
}

/** Which agents are new, changed, broken or gone after an edit. Empty if there is nothing to report. */
export function reloadText(
  before: readonly CatalogEntry[],
  now: readonly CatalogEntry[],
  look: TextLook,
): string {
  const { paint } = look;
  const old = new Map(before.map((entry) => [entry.name, entry]));
  const lines = now.flatMap((entry) => {
    const was = old.get(entry.name);
    if (entry.problems.some(({ severity }) => severity === 'error')) return problemLines(entry, look);
    if (was === undefined) return [`${paint.green('+')} ${entry.name}`];
    return was.agent?.hash === entry.agent?.hash && was.problems.length === 0
      ? []
      : [`${paint.green('✓')} ${entry.name} was reloaded`];
  });
  const gone = before.filter(({ name }) => !now.some((entry) => entry.name === name));
  return [...lines, ...gone.map(({ name }) => `${paint.yellow('-')} ${name} is gone`)]
    .map((line) => `${line}\n`)
    .join('');
}

function problemLines({ name, agent, problems }: CatalogEntry, { paint, cwd }: TextLook): readonly string[] {
  const errors = problems.filter(({ severity }) => severity === 'error');
  const [first] = errors;
  if (first === undefined) return [];
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
  return [
    `${paint.red('✗')} ${name}: ${first.message}${more}`,
    `  ${paint.dim(`${near(first.file, cwd)}:${first.line}:${first.column}`)}`,
    ...(first.hint === undefined ? [] : [`  ${paint.cyan('→')} ${first.hint}`]),
    agent === undefined ? '  This agent cannot be started.' : '  The previous version stays in use.',
  ];
}

const near = (path: string, cwd: string): string => {
  const shown = relative(cwd, path);
  return shown.startsWith('..') ? path : shown;
};
