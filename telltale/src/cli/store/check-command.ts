import type { WorkerRow } from '../../store/shared-store.ts';
import { type CheckProgress, type CheckReport, checkStore } from '../../store/upkeep/check-store.ts';
import type { DescribedOwner, StoreDescription, UpkeepFault } from '../../store/upkeep/upkeep.ts';
import { type CommandContext, EXIT, type ExitCode } from '../command.ts';
import { type Io, paletteFor } from '../io.ts';
import { asTyped, storeFlag } from '../session/store-options.ts';
import { countText, sizeText } from '../view/figures.ts';
import { harmlessLine } from '../view/harmless.ts';
import { jsonText } from '../view/json-text.ts';
import { type UpkeepOptions, withProgress, withStore } from './open-for-upkeep.ts';

/** `telltale store check`. */
export function checkCommand(options: UpkeepOptions, context: CommandContext): Promise<ExitCode> {
  const { io } = context;
  return withStore(options, context, async (store) => {
    let progress: CheckProgress = { streams: 0, events: 0 };
    const work = () =>
      checkStore(store, {
        signal: io.signal,
        onProgress(news) {
          progress = news;
        },
      });
    const report = await withProgress(context, options, () => progressText(progress), work);
    const isSound = report.more === 0 && report.faults.every(({ grade }) => grade === 'note');
    await io.stdout.write(
      options.json === true
        ? jsonText({ ok: isSound, store: store.location, ...report }, 2)
        : asTyped(reportText(report, isSound, store.location, io), io, storeFlag(options.store)),
    );
    return isSound ? EXIT.ok : EXIT.failed;
  });
}

const progressText = ({ streams, events }: CheckProgress): string =>
  `Checking: ${countText(streams, 'session or run', 'sessions and runs')}, ${countText(events, 'event')}`;

const uncoveredText = (uncovered: number): string =>
  `${countText(uncovered, 'event')} of an older version ${uncovered === 1 ? 'has' : 'have'} no checksum: a changed byte there may go unnoticed.`;

function reportText(
  report: CheckReport,
  isSound: boolean,
  location: string,
  { stdout }: Pick<Io, 'stdout'>,
): string {
  const { green, red, yellow, cyan, bold } = paletteFor(stdout);
  const { streams, events, snapshots, messages, rows, entries, uncovered = 0, faults, more } = report;
  const shown = ({ grade, stream, seq, found, hint }: UpkeepFault): readonly string[] => {
    const place = [stream, seq === undefined ? undefined : `event ${seq}`].filter(
      (part) => part !== undefined,
    );
    const mark = grade === 'damage' ? red('✗') : yellow('!');
    const at = place.length === 0 ? '' : `${bold(harmlessLine(place.join(', ')))}: `;
    return [`${mark} ${at}${harmlessLine(found)}`, `  ${cyan('→')} ${harmlessLine(hint)}`];
  };
  const counts = [
    countText(streams, 'session or run', 'sessions and runs'),
    countText(events, 'event'),
    countText(snapshots, 'snapshot'),
    countText(messages, 'message'),
    countText(rows, 'table row'),
    countText(entries, 'list entry', 'list entries'),
  ].join(', ');
  const wrong = faults.filter(({ grade }) => grade === 'damage').length + more;
  const lines = [
    ...faults.flatMap(shown),
    ...(uncovered > 0 ? [uncoveredText(uncovered)] : []),
    ...(more > 0 ? [`… and ${more.toLocaleString('en')} more`] : []),
    isSound
      ? `${green('✓')} ${location} is in order: ${counts}.`
      : `${red('✗')} ${location}: ${countText(wrong, 'problem')} in ${counts}.`,
  ];
  return `${lines.join('\n')}\n`;
}

/** `telltale store info`. */
export function infoCommand(options: UpkeepOptions, context: CommandContext): Promise<ExitCode> {
  const { io } = context;
  return withStore(options, context, async (store) => {
    const description = await store.upkeep.describe();
    const workers = (await store.shared?.workers()) ?? [];
    await io.stdout.write(
      options.json === true
        ? jsonText({ store: store.location, ...description, workers }, 2)
        : asTyped(infoText(store.location, description, workers, io), io, storeFlag(options.store)),
    );
    return EXIT.ok;
  });
}

const KINDS = { memory: 'in memory', sqlite: 'SQLite', postgres: 'PostgreSQL' } as const;

function infoText(
  location: string,
  description: StoreDescription,
  workers: readonly WorkerRow[],
  { stdout }: Pick<Io, 'stdout'>,
): string {
  const { bold, dim } = paletteFor(stdout);
  const { kind, version, bytes, freeBytes, sessions, runs, events, messages } = description;
  const row = (name: string, value: string) => `  ${dim(name.padEnd(10))} ${value}`;
  const free = freeBytes > 0 ? `, ${sizeText(freeBytes)} of it free for new data` : '';
  const count = (amount: number) => amount.toLocaleString('en');
  const lines = [
    bold(location),
    row('kind', `${KINDS[kind]}, version ${version}`),
    row('size', `${sizeText(bytes)}${free}`),
    row('sessions', count(sessions)),
    row('runs', count(runs)),
    row('events', count(events)),
    ...(messages > 0 ? [row('messages', `${count(messages)} waiting`)] : []),
    row('tables', `${countText(description.tables, 'table')} with ${countText(description.rows, 'row')}`),
    row(
      'lists',
      `${countText(description.lists, 'list')} with ${countText(description.entries, 'entry', 'entries')}`,
    ),
    ...(description.graphs ? [row('graphs', 'for details: telltale memory stats')] : []),
    row('open by', openBy(description.owners, workers)),
  ];
  return `${lines.join('\n')}\n`;
}

function openBy(owners: readonly DescribedOwner[], workers: readonly WorkerRow[]): string {
  const shown =
    workers.length > 0
      ? workers.map(({ pid, host, role, holds, alive }) =>
          harmlessLine(`${role} on ${host}, process ${pid} (${alive ? '' : 'dead, '}runs ${holds})`),
        )
      : owners.map(({ pid, streams, alive }) => `process ${pid} (${alive ? '' : 'dead, '}runs ${streams})`);
  return shown.length === 0 ? 'no process that runs a session' : shown.join('; ');
}
