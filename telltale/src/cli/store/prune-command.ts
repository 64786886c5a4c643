import { toRuntimeError } from '../../lib/errors.ts';
import { suggest } from '../../lib/nearest.ts';
import { parseDuration } from '../../lib/quantity.ts';
import type { Store } from '../../store/store.ts';
import {
  ENDED_STATUSES,
  type PrunedTree,
  type PruneReport,
  type PruneRules,
  pruneStore,
} from '../../store/upkeep/prune-store.ts';
import type { Compacted } from '../../store/upkeep/upkeep.ts';
import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../command.ts';
import type { Io } from '../io.ts';
import { paletteFor } from '../io.ts';
import { usage, wholeNumber } from '../options.ts';
import { agoText, countText, sizeText, timeText } from '../view/figures.ts';
import { jsonText } from '../view/json-text.ts';
import { brief, type Column, tableLines } from '../view/text-width.ts';
import { type UpkeepOptions, withProgress, withStore } from './open-for-upkeep.ts';

export interface PruneCommandOptions extends UpkeepOptions {
  readonly olderThan?: string;
  readonly keep?: string;
  readonly agent?: string;
  readonly status?: string;
  readonly dryRun?: true;
}

/** How many are listed. The total counts all of them. */
const MAX_SHOWN = 1_000;

/** `telltale store prune`. */
export async function pruneCommand(options: PruneCommandOptions, context: CommandContext): Promise<ExitCode> {
  const { io } = context;
  const rules = readRules(options, io);
  const dryRun = options.dryRun === true;
  return withStore(options, context, async (store) => {
    let looked = 0;
    let gone = 0;
    const shown: PrunedTree[] = [];
    const work = () =>
      pruneStore(store, {
        rules,
        dryRun,
        signal: io.signal,
        onProgress(news) {
          ({ looked, pruned: gone } = news);
        },
        onPruned: (tree) => void (shown.length < MAX_SHOWN && shown.push(tree)),
      });
    const text = () =>
      `Pruning: ${countText(looked, 'session or run', 'sessions and runs')} checked, ${gone.toLocaleString('en')} deleted`;
    const report = await withProgress(context, options, text, work);
    const space = dryRun || report.streams === 0 ? undefined : await giveBack(store, options, context);
    await io.stdout.write(
      options.json === true
        ? jsonText({ dry_run: dryRun, ...report, pruned: shown.map(treeJson), space: space ?? null }, 2)
        : `${[...(dryRun ? tableOf(shown, io) : []), ...reportLines(report, dryRun, space)].join('\n')}\n`,
    );
    return EXIT.ok;
  });
}

function readRules(
  { olderThan, keep, agent, status }: PruneCommandOptions,
  { clock }: Pick<Io, 'clock'>,
): PruneRules {
  if (olderThan === undefined && keep === undefined)
    throw usage(
      'Say which sessions to delete.',
      'Use --older-than 30d, or --keep 100 for the newest of each agent, or both. --dry-run shows what would be deleted.',
    );
  const age = olderThan === undefined ? undefined : parseDuration(olderThan);
  if (age?.ok === false)
    throw usage(`--older-than '${olderThan}' is not a duration.`, 'Write it like 30d, 12h or 90m.');
  const statuses = status?.split(',').map((each) => each.trim());
  const wrong = statuses?.find((each) => !(ENDED_STATUSES as readonly string[]).includes(each));
  if (wrong !== undefined)
    throw usage(
      `'${wrong}' is not a status that a session can end with.`,
      suggest(wrong, ENDED_STATUSES, 'Statuses'),
    );
  return {
    now: clock.now(),
    ...(age === undefined ? {} : { olderThanMs: age.value }),
    ...(keep === undefined ? {} : { keep: wholeNumber('--keep', keep, 0) }),
    ...(agent === undefined ? {} : { name: agent }),
    ...(statuses === undefined ? {} : { statuses }),
  };
}

type Space = Compacted | { readonly failed: string };

/** The data is pruned even if the file cannot be made smaller, so that is no failure. */
async function giveBack(store: Store, options: UpkeepOptions, context: CommandContext): Promise<Space> {
  try {
    return await withProgress(context, options, () => 'Freeing the space', store.upkeep.compact);
  } catch (thrown) {
    return { failed: toRuntimeError(thrown).message };
  }
}

const COLUMNS: readonly Column[] = [
  { title: 'SESSION' },
  { title: 'AGENT' },
  { title: 'STATUS' },
  { title: 'LAST WRITTEN' },
  { title: 'WITH', align: 'right' },
  { title: 'EVENTS', align: 'right' },
  { title: 'SIZE', align: 'right' },
  { title: 'INPUT', gives: true },
];
const MAX_TEXT = 200;

function tableOf(
  trees: readonly PrunedTree[],
  { stdout, clock }: Pick<Io, 'stdout' | 'clock'>,
): readonly string[] {
  if (trees.length === 0) return [];
  const { dim } = paletteFor(stdout);
  const rows = trees.map(({ stream, name, status, updatedAt, streams, events, bytes, title }) => [
    brief(stream, MAX_TEXT),
    brief(name, MAX_TEXT),
    status,
    agoText(clock.now() - updatedAt),
    String(streams - 1),
    events.toLocaleString('en'),
    sizeText(bytes),
    brief(title, MAX_TEXT),
  ]);
  const paint = (text: string, row: number) => (row === -1 ? dim(text) : text);
  return tableLines(COLUMNS, rows, { columns: stdout.columns, paint });
}

function reportLines(report: PruneReport, dryRun: boolean, space: Space | undefined): readonly string[] {
  const { streams, trees, events, bytes, kept } = report;
  const what = `${countText(trees, 'session or run', 'sessions and runs')}${streams > trees ? ` with ${(streams - trees).toLocaleString('en')} that they called` : ''}, ${countText(events, 'event')}, ${sizeText(bytes)}`;
  const stays = [
    ...(kept.byRule > 0 ? [`${kept.byRule.toLocaleString('en')} by the rules`] : []),
    ...(kept.alive > 0
      ? [`${kept.alive.toLocaleString('en')} that are unfinished, or called something unfinished`]
      : []),
    ...(kept.tooLarge.length > 0 ? [`${kept.tooLarge.join(', ')} with too many that they called`] : []),
  ];
  return [
    streams === 0 ? 'There is nothing to delete.' : `${dryRun ? 'Would delete' : 'Deleted'} ${what}.`,
    ...(stays.length > 0 ? [`Kept: ${stays.join('; ')}.`] : []),
    ...spaceLine(space),
  ];
}

function spaceLine(space: Space | undefined): readonly string[] {
  if (space === undefined) return [];
  if ('failed' in space) return [`The file stays as large as it was: ${space.failed}`];
  const { beforeBytes, afterBytes, left } = space;
  if (left === undefined) return [`The file went from ${sizeText(beforeBytes)} to ${sizeText(afterBytes)}.`];
  switch (left) {
    case 'little':
      return ['The file keeps the space for new data, because it is less than a tenth of the file.'];
    case 'in_use':
      return [
        'The file keeps the space for new data, because other processes use the store. To make the file smaller, prune while nothing runs.',
      ];
    case 'by_itself':
      return [];
  }
}

const treeJson = ({ stream, kind, name, status, updatedAt, streams, events, bytes }: PrunedTree) => ({
  stream,
  kind,
  name,
  status,
  updated: timeText(updatedAt),
  streams,
  events,
  bytes,
});
