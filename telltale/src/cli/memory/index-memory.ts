import type { IndexProgress, IndexReport } from '../../memory/memory.ts';
import { paletteFor } from '../colour.ts';
import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import type { Io } from '../io.ts';
import { startProgress, startProgressLines } from '../progress.ts';
import { countText, spanText } from '../view/figures.ts';
import { jsonText } from '../view/json-line.ts';
import { notesText } from './notes-text.ts';
import { type MemoryOptions, withMemory } from './open-for-command.ts';

/** `telltale memory index`. Ctrl-C ends it; what was read by then is kept. */
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
      // What is in hand is still written.
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
    ? `Looking: ${countText(seen, 'file')}`
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
    ...(stopped === undefined ? [] : [yellow(`Not all of it was looked at. ${stopped}`)]),
  ];
  return `${lines.join('\n')}\n`;
}
