import { readFile } from 'node:fs/promises';
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
    `${paint.bold('A model speaks; the runtime hears.')} ${paint.dim(`A recorded turn, ${rate} characters a second. ▶ is an action handed over.`)}\n\n`,
  );
  const began = clock.monotonic();
  for (let at = 0; at < transcript.length && !signal.aborted && !stdout.closed; at += CHUNK) {
    const seconds = Math.min(at + CHUNK, transcript.length) / rate;
    if (waits)
      await sleep(clock, began + seconds * 1000 - clock.monotonic(), signal).catch(ignoreAbort(signal));
    const events = parser.push(transcript.slice(at, at + CHUNK));
    for (const event of events) if (event.type === 'action') actionsAt.push(seconds);
    await stdout.write(events.map((event) => view.show(event, seconds)).join(''));
  }
  const total = transcript.length / rate;
  await stdout.write(
    parser
      .end()
      .map((event) => view.show(event, total))
      .join(''),
  );
  if (signal.aborted) return EXIT.interrupted;

  const first = actionsAt[0] ?? total;
  await stdout.write(
    [
      '',
      `${paint.green(timeLine(actionsAt, total, columns - 20))} ${total.toFixed(1)} s of stream`,
      `${actionsAt.length} actions were handed over while the model was still speaking, the first after ${first.toFixed(1)} s;`,
      `a runtime that waits for the end of the response would have started all of them at ${total.toFixed(1)} s.`,
      '',
      'Next:',
      '  npm start -- parse telltale/transcripts/first-look.txt   the same turn as events, one a line',
      '  npm start -- validate examples                           manifests that explain themselves',
      '  npm start -- --help                                      everything else',
      '',
    ].join('\n'),
  );
  return EXIT.ok;
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
