import type { Store } from '../../store/store.ts';
import { type CopyProgress, type CopyReport, copyStore } from '../../store/upkeep/copy-store.ts';
import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../command.ts';
import type { Io } from '../io.ts';
import { paletteFor } from '../io.ts';
import { usage } from '../options.ts';
import { shownLocation, storeExists } from '../session/store-options.ts';
import { countText, spanText } from '../view/figures.ts';
import { jsonText } from '../view/json-text.ts';
import { keptLocation, samePlace, withProgress, withStoreAt } from './open-for-upkeep.ts';

export interface CopyOptions {
  readonly merge?: true;
  readonly running?: true;
  readonly verbose?: true;
  readonly json?: true;
}

/** `telltale store copy`. After Ctrl-C or a kill, the same command continues the copy. */
export async function copyCommand(
  from: string,
  to: string,
  options: CopyOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { io } = context;
  const [source, target] = [keptLocation(from, io), keptLocation(to, io)];
  if (!storeExists(source, io))
    throw usage(
      `There is no store at '${shownLocation(from)}'.`,
      'Name a SQLite file or a postgres://… database.',
    );
  if (samePlace(source, target, io.cwd))
    throw usage(`'${shownLocation(to)}' is the store to copy.`, 'Name another place for the copy.');
  const copy = (ours: Store) =>
    withStoreAt(target, context, async (theirs) => {
      const began = io.clock.monotonic();
      let progress: CopyProgress = { doing: 'looking', done: 0, of: 0, events: 0 };
      const work = () =>
        copyStore(ours, theirs, {
          clock: io.clock,
          signal: io.signal,
          merge: options.merge === true,
          running: options.running === true,
          onProgress(news) {
            progress = news;
          },
        });
      let report: CopyReport;
      try {
        report = await withProgress(context, options, () => progressText(progress), work);
      } catch (thrown) {
        if (io.signal.aborted && options.json !== true) await io.stderr.write(stoppedText(progress));
        throw thrown;
      }
      const ms = io.clock.monotonic() - began;
      const alive = (await ours.list({ status: ['running', 'waiting'], limit: 1 })).length > 0;
      await io.stdout.write(
        options.json === true
          ? jsonText({ from: ours.location, to: theirs.location, ...report, alive, ms: Math.round(ms) }, 2)
          : reportText(report, { from: ours.location, to: theirs.location, alive, ms, options, io }),
      );
      // Some streams are still running.
      return report.running.length > 0 ? EXIT.waiting : EXIT.ok;
    });
  return withStoreAt(source, context, copy, true);
}

const streamsText = (count: number) => countText(count, 'session or run', 'sessions and runs');

function progressText({ doing, done, of, events }: CopyProgress): string {
  switch (doing) {
    case 'looking':
      return `Comparing both stores: ${streamsText(done)}`;
    case 'streams':
      return `Copying: ${done.toLocaleString('en')} of ${streamsText(of)}, ${countText(events, 'event')}`;
    case 'tables':
      return 'Copying tables';
    case 'graphs':
      return 'Copying knowledge graphs';
    case 'checking':
      return `Verifying both stores: ${done.toLocaleString('en')} of ${streamsText(of)}`;
  }
}

const stoppedText = ({ doing, done, of }: CopyProgress): string =>
  doing === 'looking'
    ? 'Stopped before anything was copied.\n'
    : `Stopped. ${done.toLocaleString('en')} of ${streamsText(of)} are copied. Run the same command again to continue.\n`;

const MAX_NAMED = 5;

function reportText(
  report: CopyReport,
  at: {
    readonly from: string;
    readonly to: string;
    /** Whether anything in it has not ended. */
    readonly alive: boolean;
    readonly ms: number;
    readonly options: CopyOptions;
    readonly io: Pick<Io, 'stdout'>;
  },
): string {
  const { copied, same, events, rows, entries, graphs, running, checked } = report;
  const { yellow, dim } = paletteFor(at.io.stdout);
  const parts = [streamsText(copied), countText(events, 'event'), countText(rows, 'table row')];
  if (entries > 0) parts.push(countText(entries, 'list entry', 'list entries'));
  if (graphs.graphs > 0) parts.push(countText(graphs.graphs, 'knowledge graph'));
  const named = running.slice(0, MAX_NAMED).join(', ');
  const others = running.length > MAX_NAMED ? ` and ${running.length - MAX_NAMED} more` : '';
  const lines = [
    `Copied from ${at.from} to ${at.to} in ${spanText(at.ms)}: ${parts.join(', ')}.`,
    ...(same > 0 ? [`${streamsText(same)} were already there, unchanged.`] : []),
    `Both stores were read again and have the same content: ${streamsText(checked.streams.length)}, ${countText(checked.events, 'event')}, ${countText(checked.rows, 'table row')}, ${countText(checked.entries, 'list entry', 'list entries')}.`,
    ...(at.options.verbose === true
      ? [
          ...checked.streams.map(({ stream, events: count, sha256 }) => `${sha256}  ${stream}  ${count}`),
          `${checked.tablesSha256}  tables and lists`,
        ]
      : []),
    dim(`sha256 ${checked.sha256}`),
    ...(running.length > 0
      ? [
          yellow(
            `Still running: ${named}${others}. They are copied up to now, and interrupted in the copy. Stop them, then run the same command without --running.`,
          ),
        ]
      : []),
    ...(checked.cameCount > 0
      ? [yellow(`${streamsText(checked.cameCount)} started in the meantime and are not in the copy yet.`)]
      : []),
    ...(at.alive && running.length === 0
      ? [
          yellow(
            `Unfinished sessions and runs can now be resumed in both stores, and would then run twice. Before anything uses the copy, make sure that nothing uses ${at.from} any more.`,
          ),
        ]
      : []),
  ];
  return `${lines.join('\n')}\n`;
}
