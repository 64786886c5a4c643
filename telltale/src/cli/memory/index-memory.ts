import type { IndexProgress, IndexReport } from '../../memory/memory.ts';
import type { GraphStats } from '../../store/graph.ts';
import { type CommandContext, EXIT, type ExitCode } from '../command.ts';
import { type Io, paletteFor } from '../io.ts';
import { startProgress, startProgressLines } from '../progress.ts';
import { agoText, countText, spanText, timeText } from '../view/figures.ts';
import { jsonText } from '../view/json-text.ts';
import { type MemoryOptions, withIndexed, withMemory } from './open-for-command.ts';

/** `telltale memory index`. Ctrl-C stops it and keeps what was read until then. */
export function indexMemory(
  folder: string,
  options: MemoryOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { io } = context;
  return withMemory(folder, options, context, async (memory) => {
    let progress: IndexProgress = { seen: 0, toRead: 0, read: 0 };
    const stopProgress = startProgress(io, () => progressText(progress));
    const stopLines = startProgressLines(io, () => progressText(progress));
    let report: IndexReport | undefined;
    try {
      report = await memory.index({
        signal: io.signal,
        onProgress(news) {
          progress = news;
        },
      });
    } catch (thrown) {
      if (!io.signal.aborted) throw thrown;
    } finally {
      stopLines();
      await stopProgress();
    }
    if (report === undefined) {
      // Pending changes are still written.
      await memory.close();
      await io.stderr.write(
        `Stopped. ${countText(progress.read, 'file')} of ${countText(progress.toRead, 'file')} are in the graph. Index again to continue from there.\n`,
      );
      return EXIT.interrupted;
    }
    await (options.json === true
      ? io.stdout.write(jsonText({ folder: memory.folder, graph: memory.graph, ...report }, 2))
      : io.stdout.write(reportText(report, io)));
    return EXIT.ok;
  });
}

const progressText = ({ seen, toRead, read }: IndexProgress): string =>
  toRead === 0
    ? `Searching: ${countText(seen, 'file')}`
    : `Reading: ${read.toLocaleString('en')} of ${countText(toRead, 'file')} (${Math.floor((read * 100) / toRead)} %)`;

function reportText(report: IndexReport, { stdout }: Pick<Io, 'stdout'>): string {
  const { yellow, dim } = paletteFor(stdout);
  const { files, parsed, removed, symbols, ms, notes, stopped } = report;
  const rate =
    parsed > 0 && ms > 0 ? `, ${Math.round((parsed * 1000) / ms).toLocaleString('en')} files/s` : '';
  const lines = [
    `${countText(files, 'file')}: ${parsed.toLocaleString('en')} read${
      parsed > 0 ? ` with ${countText(symbols, 'symbol')}` : ''
    }, ${removed.toLocaleString('en')} removed in ${spanText(ms)}${rate}`,
    ...(Object.keys(notes).length === 0 ? [] : [dim(notesText(notes))]),
    ...(stopped === undefined ? [] : [yellow(`Not everything was indexed. ${stopped}`)]),
  ];
  return `${lines.join('\n')}\n`;
}

/** `telltale memory stats`. */
export function memoryStats(
  folder: string | undefined,
  options: MemoryOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { io } = context;
  return withIndexed(folder ?? '.', options, context, async (memory, _graphs, stats) => {
    const { walkedAtMs, ...rest } = stats;
    const walked = walkedAtMs === undefined ? {} : { walked: timeText(walkedAtMs) };
    await io.stdout.write(
      options.json === true
        ? jsonText({ folder: memory.folder, graph: memory.graph, ...rest, ...walked }, 2)
        : statsText(memory.folder, stats, io),
    );
    return EXIT.ok;
  });
}

const COMMIT_DIGITS = 12;

function statsText(
  folder: string,
  stats: GraphStats,
  { stdout, clock }: Pick<Io, 'stdout' | 'clock'>,
): string {
  const { bold, dim } = paletteFor(stdout);
  const { files, symbols, imports, resolvedImports, calls, facts, staleFacts, sessions } = stats;
  const languages = Object.entries(stats.languages)
    .toSorted(([, a], [, b]) => b - a)
    .map(([name, count]) => `${name} ${count.toLocaleString('en')}`);
  const row = (name: string, value: string) => `  ${dim(name.padEnd(10))} ${value}`;
  const lines = [
    bold(folder),
    row('files', `${files.toLocaleString('en')}${languages.length === 0 ? '' : `: ${languages.join(', ')}`}`),
    row('symbols', symbols.toLocaleString('en')),
    row(
      'imports',
      `${imports.toLocaleString('en')}, ${resolvedImports.toLocaleString('en')} of them in this folder`,
    ),
    row('calls', calls.toLocaleString('en')),
    row(
      'facts',
      `${facts.toLocaleString('en')}${staleFacts === 0 ? '' : `, ${staleFacts.toLocaleString('en')} of them stale`}`,
    ),
    row('sessions', sessions.toLocaleString('en')),
    ...(stats.commit === undefined ? [] : [row('commit', stats.commit.slice(0, COMMIT_DIGITS))]),
    row(
      'indexed',
      stats.walkedAtMs === undefined ? 'not finished yet' : agoText(clock.now() - stats.walkedAtMs),
    ),
    ...(Object.keys(stats.notes).length === 0 ? [] : [`  ${dim(notesText(stats.notes))}`]),
  ];
  return `${lines.join('\n')}\n`;
}

const MEANING: Readonly<Record<string, string>> = {
  too_large: 'too large',
  minified: 'minified',
  binary: 'no text',
  broken: 'with syntax errors, read as far as possible',
  unreadable: 'unreadable',
};

/** How many files are only partly known, and why. */
function notesText(notes: Readonly<Record<string, number>>): string {
  const total = Object.values(notes).reduce((sum, count) => sum + count, 0);
  const parts = Object.entries(notes).map(
    ([note, count]) => `${count.toLocaleString('en')} ${MEANING[note] ?? note}`,
  );
  return `${countText(total, 'file')} could not be indexed completely: ${parts.join(', ')}`;
}
