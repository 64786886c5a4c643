import { codeIn, type FleetStatus } from '../../cluster/fleet.ts';
import type { FleetService } from '../../cluster/open-fleet.ts';
import { toRuntimeError } from '../../lib/errors.ts';
import { hasEnded, QUARANTINED, readQuarantine } from '../../store/quarantine.ts';
import type { WorkerRow } from '../../store/shared-store.ts';
import type { Store, StreamInfo } from '../../store/store.ts';
import { type CommandContext, EXIT, type ExitCode } from '../command.ts';
import { type Io, paletteFor } from '../io.ts';
import { asTyped, type StoreOption, storeFlag } from '../session/store-options.ts';
import { withStoredSessions } from '../session/with-runtime.ts';
import { agoText, spanText, timeText } from '../view/figures.ts';
import { jsonText } from '../view/json-text.ts';
import type { ShownQuarantine } from '../view/status.ts';
import { type Column, tableLines } from '../view/text-width.ts';

/** `telltale fleet retry`. */
export async function retryStream(
  stream: string,
  options: FleetOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { io } = context;
  await withFleet(context, options, (fleet) => fleet.retry(stream));
  await io.stdout.write(
    options.json === true
      ? jsonText({ stream, offered: true })
      : `The workers can run ${stream} again. ${asTyped('To watch it: telltale fleet', io, storeFlag(options.store))}\n`,
  );
  return EXIT.ok;
}

export interface FleetOptions {
  readonly store?: string;
  readonly watch?: true;
  readonly json?: true;
}

const EVERY_MS = 2_000;

const COLUMNS: readonly Column[] = [
  { title: 'WORKER', gives: true },
  { title: 'AS' },
  { title: 'HOLDS' },
  { title: 'WORKS ON' },
  { title: 'SINCE' },
  { title: 'HEARD' },
  { title: 'STATE' },
  { title: 'ADDRESS' },
];

/** `telltale fleet`. */
export async function showFleet(options: FleetOptions, context: CommandContext): Promise<ExitCode> {
  const { io } = context;
  await withFleet(context, options, async (fleet) => {
    await io.stdout.write(shown(await fleet.status(), options, io));
    while (options.watch === true && (await waitForNextLook(io))) {
      if (options.json !== true) await io.stdout.write('\n');
      await io.stdout.write(shown(await fleet.status(), options, io));
    }
  });
  return EXIT.ok;
}

/** False if the process was told to stop in the meantime. */
const waitForNextLook = ({ clock, signal }: Io): Promise<boolean> =>
  new Promise((resolve) => {
    const cancel = clock.after(EVERY_MS, () => resolve(!signal.aborted));
    const stop = () => {
      cancel();
      resolve(false);
    };
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });

function shown(status: FleetStatus, { json, watch, store }: FleetOptions, io: Io): string {
  if (json === true) return jsonText(fleetJson(status), watch === true ? undefined : 2);
  return asTyped(fleetText(status, io), io, storeFlag(store));
}

function fleetText(status: FleetStatus, io: Io): string {
  const now = io.clock.now();
  const paint = paletteFor(io.stdout);
  const { fleet, workers, queue, laidAside } = status;
  const rows = workers.map((worker) => rowOf(worker, now));
  const table =
    workers.length === 0
      ? ['No worker is running. Start one: telltale worker']
      : tableLines(COLUMNS, rows, {
          columns: io.stdout.columns,
          paint: (text, row) => (row === -1 || workers[row]?.alive === false ? paint.dim(text) : text),
        });
  const alive = workers.filter((worker) => worker.alive);
  const sum = (of: (worker: WorkerRow) => number) => alive.reduce((all, worker) => all + of(worker), 0);
  return [
    `${paint.bold(fleet)}: ${alive.length} alive, working on ${sum(({ working }) => working)} of ${sum(({ capacity }) => capacity)}`,
    ...table,
    `queue: ${queue.waiting} waiting${queue.waiting === 0 ? '' : `, the oldest for ${spanText(queue.lagMs)}`}, ${queue.taken} being taken`,
    ...laidAside.map(
      ({ stream, why }) =>
        `${paint.red('✗')} ${stream} is quarantined: ${why}\n  ${paint.cyan('→')} Fix that, then: telltale fleet retry ${stream}`,
    ),
    queue.laidAside > laidAside.length
      ? `  and ${queue.laidAside - laidAside.length} more are quarantined`
      : '',
  ]
    .filter((line) => line !== '')
    .join('\n')
    .concat('\n');
}

const rowOf = (worker: WorkerRow, now: number): readonly string[] => [
  `${worker.host}/${worker.pid}`,
  worker.role,
  String(worker.holds),
  `${worker.working} of ${worker.capacity}`,
  agoText(now - worker.startedAt),
  worker.quietMs < 1_000 ? 'now' : agoText(worker.quietMs),
  stateOf(worker),
  worker.url ?? '–',
];

const stateOf = ({ alive, draining }: WorkerRow): string =>
  !alive ? 'dead' : draining === true ? 'draining' : 'alive';

const fleetJson = ({ fleet, workers, queue, laidAside }: FleetStatus) => ({
  fleet,
  workers: workers.map(({ startedAt, ...worker }) => ({ ...worker, started: timeText(startedAt) })),
  queue,
  laidAside: laidAside.map(({ kind, stream, group, at, why }) => ({
    kind,
    stream,
    group,
    code: codeIn(why),
    why,
    at: timeText(at),
  })),
});

/** Why a session or run is quarantined, and the command that releases it. Undefined if it is not quarantined. */
export async function findQuarantine(
  store: Store,
  info: StreamInfo,
  onError: (thrown: unknown) => void,
): Promise<ShownQuarantine | undefined> {
  const { stream, kind } = info;
  if (info.status === QUARANTINED) {
    const noted = await readQuarantine(store, stream);
    const release = kind === 'run' ? `telltale workflow resume ${stream}` : `telltale resume ${stream}`;
    return { why: noted?.why ?? 'The store does not say why.', at: noted?.at ?? info.updatedAt, release };
  }
  if (store.shared === undefined || info.owner !== undefined || hasEnded(info)) return undefined;
  const { openFleetService } = await import('../../cluster/open-fleet.ts');
  const service = await openFleetService(store, onError);
  try {
    const aside = (await service.status()).laidAside.find((each) => each.stream === stream);
    return aside && { why: aside.why, at: aside.at, release: `telltale fleet retry ${stream}` };
  } finally {
    await service.close();
  }
}

/** Opens the store for its fleet, and closes it. */
function withFleet<T>(
  context: CommandContext,
  options: StoreOption,
  work: (fleet: FleetService) => Promise<T>,
): Promise<T> {
  return withStoredSessions(context, options, async ({ store }) => {
    const { openFleetService } = await import('../../cluster/open-fleet.ts');
    const onError = (thrown: unknown) => void context.io.stderr.write(`${toRuntimeError(thrown).message}\n`);
    const service = await openFleetService(store, onError);
    try {
      return await work(service);
    } finally {
      await service.close();
    }
  });
}
