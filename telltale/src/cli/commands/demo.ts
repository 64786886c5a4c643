import { readFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sleep } from '../../kernel/clock.ts';
import { paletteFor } from '../colour.ts';
import type { RegisterCommand } from '../command.ts';
import { createLiveView } from '../demo/live-view.ts';
import { timeLine } from '../demo/time-line.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import type { Io } from '../io.ts';
import { usage } from '../usage.ts';

interface Options {
  readonly rate?: string;
}

/** About 100 tokens a second, what a fast model gives. */
const DEFAULT_RATE = 400;
const CHUNK = 4;
const TRANSCRIPT = fileURLToPath(new URL('../../../transcripts/first-look.txt', import.meta.url));

export const registerDemo: RegisterCommand = (program, { io, run }) => {
  program
    .command('demo')
    .summary('watch the parser act on a recorded turn of a model')
    .description(
      'Replays a recorded turn of a model as it streamed, and shows what the runtime hears and when.',
    )
    .option(
      '--rate <n>',
      `characters a second (default: ${DEFAULT_RATE} on a terminal, as fast as possible in a pipe)`,
    )
    .action(run((options: Options) => demo(options, io)));
};

async function demo(options: Options, io: Io): Promise<ExitCode> {
  const { createTagParser } = await import('../../protocol/index.ts');
  const { stdout, clock, signal } = io;
  const paint = paletteFor(stdout);
  const rate = options.rate === undefined ? DEFAULT_RATE : charactersPerSecond(options.rate);
  const waits = options.rate !== undefined || stdout.isTerminal;
  const columns = Math.min(stdout.columns ?? 100, 120);
  const transcript = await readFile(TRANSCRIPT, 'utf8');
  const parser = createTagParser();
  const view = createLiveView(paint, columns);
  const actionsAt: number[] = [];

  await stdout.write(
    [
      paint.bold('A model speaks; the runtime hears.'),
      paint.dim(`A recorded turn, ${rate} characters a second. ▶ is an action handed over.`),
      '\n',
    ].join('\n'),
  );
  const began = clock.monotonic();
  for (let at = 0; at < transcript.length && !signal.aborted && !stdout.closed; at += CHUNK) {
    const seconds = Math.min(at + CHUNK, transcript.length) / rate;
    if (waits)
      await sleep(clock, began + seconds * 1000 - clock.monotonic(), signal).catch(ignoreAbort(signal));
    if (signal.aborted) break;
    const events = parser.push(transcript.slice(at, at + CHUNK));
    for (const event of events) if (event.type === 'action') actionsAt.push(seconds);
    await stdout.write(events.map((event) => view.show(event, seconds)).join(''));
  }
  // What is still open now was cut off by the reader, not by the model: its faults would be no news of the turn.
  if (signal.aborted) {
    await stdout.write('\n');
    return EXIT.interrupted;
  }
  const total = transcript.length / rate;
  await stdout.write(
    parser
      .end()
      .map((event) => view.show(event, total))
      .join(''),
  );

  const first = actionsAt[0] ?? total;
  await stdout.write(
    [
      '',
      `${paint.green(timeLine(actionsAt, total, Math.max(10, columns - 20)))} ${total.toFixed(1)} s of stream`,
      `${actionsAt.length} actions were handed over while the model still spoke, the first after ${first.toFixed(1)} s;`,
      `a runtime that waits for the end would have started them all at ${total.toFixed(1)} s.`,
      '',
      ...whatNext(TRANSCRIPT, io.cwd),
      '',
    ].join('\n'),
  );
  return EXIT.ok;
}

/** What to type next, as it has to be typed: in a clone, or where the package is installed. */
export function whatNext(transcript: string, cwd: string): readonly string[] {
  const isInstalled = /[\\/]node_modules[\\/]/.test(transcript);
  const [command, file, manifests] = isInstalled
    ? ['telltale', relative(cwd, transcript), 'FOLDER']
    : ['npm start --', 'telltale/transcripts/first-look.txt', 'examples/manifests'];
  return [
    'Next:',
    '  # the same turn as events, one a line',
    `  ${command} parse ${file}`,
    '  # manifests that explain themselves',
    `  ${command} validate ${manifests}`,
    '  # everything else',
    `  ${command} --help`,
  ];
}

/** An interrupted wait is how Ctrl-C arrives here; the loop sees it. */
const ignoreAbort = (signal: AbortSignal) => (reason: unknown) => {
  if (!signal.aborted) throw reason;
};

function charactersPerSecond(text: string): number {
  const rate = Number(text);
  if (rate > 0 && Number.isFinite(rate)) return rate;
  throw usage(`--rate '${text}' is no number above 0.`, 'Write --rate 200 for 200 characters a second.');
}
