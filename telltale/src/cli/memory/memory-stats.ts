import type { GraphStats } from '../../store/graph.ts';
import { paletteFor } from '../colour.ts';
import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import type { Io } from '../io.ts';
import { agoText, timeText } from '../view/figures.ts';
import { jsonText } from '../view/json-line.ts';
import { notesText } from './notes-text.ts';
import { type MemoryOptions, withIndexed } from './open-for-command.ts';

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
      `${imports.toLocaleString('en')}, ${resolvedImports.toLocaleString('en')} of them of this folder`,
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
      stats.walkedAtMs === undefined ? 'not to the end yet' : agoText(clock.now() - stats.walkedAtMs),
    ),
    ...(Object.keys(stats.notes).length === 0 ? [] : [`  ${dim(notesText(stats.notes))}`]),
  ];
  return `${lines.join('\n')}\n`;
}
