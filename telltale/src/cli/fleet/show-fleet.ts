import { codeIn, type FleetStatus } from '../../session/fleet/fleet.ts';
import type { WorkerRow } from '../../store/shared-store.ts';
import { paletteFor } from '../colour.ts';
import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import type { Io } from '../io.ts';
import { asTyped } from '../session/naming-store.ts';
import { storeFlag } from '../session/store-location.ts';
import { agoText, spanText, timeText } from '../view/figures.ts';
import { jsonText } from '../view/json-line.ts';
import { type Column, tableLines } from '../view/table.ts';
import { withFleet } from './with-fleet.ts';

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
    while (options.watch === true && (await passed(io))) {
      if (options.json !== true) await io.stdout.write('\n');
      await io.stdout.write(shown(await fleet.status(), options, io));
    }
  });
  return EXIT.ok;
}

/** False where the process was told to stop meanwhile. */
const passed = ({ clock, signal }: Io): Promise<boolean> =>
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
      ? ['No process works for it. Start one: telltale worker']
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
