import type { FeedTrial } from '../../agent/runtime-types.ts';
import type { FeedReading, FeedView } from '../../feeds/feed.ts';
import { sleep } from '../../lib/clock.ts';
import { RuntimeError, toRuntimeError } from '../../lib/errors.ts';
import { feedText } from '../../lib/text.ts';
import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../command.ts';
import { paletteFor } from '../io.ts';
import { shellWord, usage } from '../options.ts';
import { startProgress } from '../progress.ts';
import { readVars } from '../run/run-options.ts';
import { loadForRun } from '../run/with-agent.ts';
import { withRuntime } from '../session/with-runtime.ts';
import { countText, spanText } from '../view/figures.ts';
import { harmlessLine, harmlessLines } from '../view/harmless.ts';
import { jsonText } from '../view/json-text.ts';
import { type Column, tableLines } from '../view/text-width.ts';

export interface FeedsOptions {
  readonly store?: string;
  readonly var: readonly string[];
  readonly model?: string;
  readonly watch?: true;
  readonly json?: true;
}

/** How often a feed without an interval is loaded. */
const WATCH_MS = 2_000;

const COLUMNS: readonly Column[] = [
  { title: 'FEED' },
  { title: 'TYPE' },
  { title: 'SHOWN' },
  { title: 'ENABLED' },
  { title: 'SOURCE', gives: true },
];

/** `telltale feeds`. */
export async function tryFeed(
  manifest: string,
  feed: string | undefined,
  options: FeedsOptions,
  context: CommandContext,
): Promise<ExitCode> {
  if (options.watch === true && feed === undefined)
    throw usage(
      '--watch needs the name of a feed.',
      `Name one: telltale feeds ${shellWord(manifest)} FEED --watch`,
    );
  const vars = readVars(options.var);
  const agent = await loadForRun(manifest, context, options);
  if (agent === undefined) return EXIT.usage;
  const { model, store } = options;
  return withRuntime(context, store === undefined ? {} : { store }, async (runtime) => {
    const trial = await runtime.feeds(agent, { vars, ...(model === undefined ? {} : { model }) });
    try {
      if (feed === undefined) return await list(trial.list(), agent.manifest.name, options, context);
      return options.watch === true
        ? await watch(trial, feed, options, context)
        : await load(trial, feed, options, context);
    } finally {
      await trial.close();
    }
  });
}

async function list(
  feeds: readonly FeedView[],
  agent: string,
  { json }: FeedsOptions,
  { io }: CommandContext,
): Promise<ExitCode> {
  if (json === true) {
    await io.stdout.write(jsonText(feeds as never));
    return EXIT.ok;
  }
  if (feeds.length === 0) {
    await io.stdout.write(`The agent ${harmlessLine(agent)} has no context feeds.\n`);
    return EXIT.ok;
  }
  const rows = feeds.map(({ id, type, intervalMs, inject, enabled, source }) => [
    harmlessLine(id),
    intervalMs === undefined ? type : `every ${spanText(intervalMs)}`,
    inject,
    enabled ? 'yes' : 'no',
    harmlessLine(source),
  ]);
  const lines = tableLines(COLUMNS, rows, { columns: io.stdout.columns });
  await io.stdout.write(`${lines.join('\n')}\n`);
  return EXIT.ok;
}

async function load(
  trial: FeedTrial,
  feed: string,
  options: FeedsOptions,
  { io }: Pick<CommandContext, 'io'>,
): Promise<ExitCode> {
  const stopProgress = startProgress(io, () => `Loading ${feed}…`);
  const began = io.clock.monotonic();
  let reading: FeedReading;
  try {
    reading = await trial.read(feed, { signal: io.signal });
  } catch (thrown) {
    io.signal.throwIfAborted();
    throw notLoaded(feed, toRuntimeError(thrown));
  } finally {
    await stopProgress();
  }
  await print(reading, io.clock.monotonic() - began, options, io);
  return EXIT.ok;
}

/** A feed that does not exist is the user's mistake. Any other error is the source's. */
const notLoaded = (feed: string, cause: RuntimeError): RuntimeError =>
  cause.code === 'feed_unknown'
    ? usage(cause.message, cause.hint ?? 'List them: telltale feeds MANIFEST')
    : new RuntimeError(
        'feed_failed',
        `The feed "${feed}" could not be loaded (${cause.code}). ${cause.message}`,
        {
          hint: cause.hint,
          cause,
        },
      );

/** Runs until it is interrupted. If the source fails, it reports that and tries again. */
async function watch(
  trial: FeedTrial,
  feed: string,
  options: FeedsOptions,
  { io }: CommandContext,
): Promise<ExitCode> {
  const view = trial.list().find(({ id }) => id === feed);
  if (view === undefined) return load(trial, feed, options, { io }); // This reports that the feed does not exist.
  let shown: string | undefined;
  for (;;) {
    const began = io.clock.monotonic();
    const said = await trial.read(feed, { signal: io.signal }).then(
      (reading) => ({ key: JSON.stringify(reading.value), reading }),
      (thrown: unknown) => {
        io.signal.throwIfAborted();
        const { code, message } = toRuntimeError(thrown);
        return { key: `${code}: ${message}`, reading: undefined };
      },
    );
    if (said.key !== shown) {
      shown = said.key;
      if (said.reading !== undefined) await print(said.reading, io.clock.monotonic() - began, options, io);
      else await io.stderr.write(`! ${harmlessLine(said.key)}\n`);
    }
    await sleep(io.clock, view?.intervalMs ?? WATCH_MS, io.signal);
  }
}

async function print(
  reading: FeedReading,
  ms: number,
  { json }: FeedsOptions,
  io: CommandContext['io'],
): Promise<void> {
  const { id, value, tokens, truncated } = reading;
  if (json === true) {
    const cut = truncated === undefined ? {} : { truncated };
    await io.stdout.write(jsonText({ id, value, tokens, ...cut, ms: Math.round(ms) }));
    return;
  }
  const paint = paletteFor(io.stderr);
  const missing = truncated === undefined ? '' : `, about ${countText(truncated, 'token')} left out`;
  await io.stdout.write(`${harmlessLines(feedText(value)).join('\n')}\n`);
  await io.stderr.write(
    `${paint.dim(`${harmlessLine(id)}: ${countText(tokens, 'token')}${missing}, ${spanText(ms)}`)}\n`,
  );
}
