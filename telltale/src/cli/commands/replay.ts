import type { SessionEvent } from '../../events/event.ts';
import { reduce } from '../../events/reduce.ts';
import { emptyState } from '../../events/state.ts';
import { sleep } from '../../kernel/clock.ts';
import { paletteFor } from '../colour.ts';
import type { CommandContext, RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import type { Io } from '../io.ts';
import { createTerminalView, type TerminalView } from '../run/terminal-view.ts';
import { eventUnknown } from '../session/event-unknown.ts';
import { findSession } from '../session/find-session.ts';
import { readLog } from '../session/read-log.ts';
import { addStoreOption, withStoredRuntime } from '../session/with-runtime.ts';
import { usage } from '../usage.ts';
import { eventJson } from '../view/json-line.ts';
import { createPlainLines } from '../view/plain-lines.ts';
import { positionLine } from '../view/position-line.ts';
import { wholeNumber } from '../whole-number.ts';

interface Options {
  readonly store?: string;
  readonly to?: string;
  readonly step?: true;
  readonly speed?: string;
  readonly instant?: true;
  readonly json?: true;
}

/** A session that waited for days is not replayed for days. */
const MAX_PAUSE_MS = 5000;
const DEFAULT_COLUMNS = 80;

const EXAMPLES = `
SESSION is an id, the beginning or the end of one, or "last". In a pipe nothing
is waited for.

Examples:
  $ telltale replay last                as it went
  $ telltale replay last --speed 4      four times as fast
  $ telltale replay last --step         event by event, with Enter
  $ telltale replay last --to 20        up to its 20th event
`;

export const registerReplay: RegisterCommand = (program, context) => {
  addStoreOption(program.command('replay'))
    .summary('watch a session again, at any speed or step by step')
    .description('Steps through the log of a session and shows it as the live view did. Nothing is run.')
    .argument('<session>', 'which one')
    .option('--to <n>', 'stop after event n')
    .option('--step', 'wait for Enter before each event')
    .option('--speed <x>', 'how many times as fast (default: 1)')
    .option('--instant', 'wait for nothing')
    .option('--json', 'print the events as JSON, one a line')
    .addHelpText('after', EXAMPLES)
    .action(context.run((session: string, options: Options) => replay(session, options, context)));
};

async function replay(asked: string, options: Options, context: CommandContext): Promise<ExitCode> {
  const { io } = context;
  const last = options.to === undefined ? undefined : wholeNumber('--to', options.to);
  const pace = readPace(options, io);
  return withStoredRuntime(context, options, async ({ store }) => {
    const { stream, head } = await findSession(store, asked);
    if (last !== undefined && last > head) throw eventUnknown(stream, last, head);
    const to = last ?? head;
    const events = readLog(store, stream, { to });
    if (options.json === true)
      await eachEvent(events, io, async (event) => {
        await io.stdout.write(eventJson(event));
        return true;
      });
    else await play(events, { pace, head, io });
    return EXIT.ok;
  });
}

/** How long to wait before an event: for its own time, scaled; for a person; or not at all. */
type Pace =
  | { readonly kind: 'timed'; readonly speed: number }
  | { readonly kind: 'step' }
  | { readonly kind: 'instant' };

function readPace(options: Options, { stdout, stdin }: Io): Pace {
  const asked = (['step', 'speed', 'instant'] as const).filter((name) => options[name] !== undefined);
  if (asked.length > 1)
    throw usage(`'--${asked[0]}' and '--${asked[1]}' cannot be had at once.`, 'Leave one of them out.');
  if (options.step === true) {
    if (stdout.isTerminal && stdin.isTerminal) return { kind: 'step' };
    throw usage("'--step' needs a terminal.", 'Leave it out: in a pipe all events are printed at once.');
  }
  if (options.instant === true || !stdout.isTerminal) return { kind: 'instant' };
  const speed = Number(options.speed ?? 1);
  if (speed > 0 && Number.isFinite(speed)) return { kind: 'timed', speed };
  throw usage(`--speed '${options.speed}' is no number above 0.`, 'Write --speed 2 for twice as fast.');
}

interface Play {
  readonly pace: Pace;
  readonly head: number;
  readonly io: Io;
}

async function play(events: AsyncIterable<SessionEvent>, { pace, head, io }: Play): Promise<void> {
  const { stdout, clock, signal } = io;
  const paint = paletteFor(stdout);
  const state = emptyState();
  const position = () => positionLine(state, head, stdout.columns ?? DEFAULT_COLUMNS, paint);
  /** The time that is shown: that of the last event, and what has gone by since. */
  let shown = { at: 0, since: clock.monotonic() };
  const speed = pace.kind === 'timed' ? pace.speed : 0;
  const view = stdout.isTerminal
    ? createTerminalView(io, {
        now: () => shown.at + (clock.monotonic() - shown.since) * speed,
        still: pace.kind !== 'timed',
        ...(pace.kind === 'step'
          ? { status: () => `${position()} ${paint.dim('Enter: next, q: leave')} ` }
          : {}),
      })
    : plainView(io);
  try {
    await eachEvent(events, io, async (event) => {
      if (pace.kind === 'timed' && state.seq > 0) {
        const pause = Math.min(MAX_PAUSE_MS, Math.max(0, event.at - state.at) / pace.speed);
        await sleep(clock, pause, signal).catch(() => signal.throwIfAborted());
      }
      reduce(state, event);
      shown = { at: event.at, since: clock.monotonic() };
      await view.show(event);
      if (pace.kind !== 'step') return true;
      await view.draw();
      const line = await io.stdin.readLine(signal);
      if (line !== undefined) view.entered();
      return line !== undefined && !/^\s*q/i.test(line);
    });
  } finally {
    await view.leave();
  }
  if (!signal.aborted) await stdout.write(`${position()}\n`);
}

const plainView = ({ stdout }: Io): Pick<TerminalView, 'show' | 'draw' | 'leave' | 'entered'> => {
  const lines = createPlainLines();
  return {
    show: (event) =>
      stdout.write(
        lines(event)
          .map((line) => `${line}\n`)
          .join(''),
      ),
    draw: async () => {},
    leave: async () => {},
    entered: () => {},
  };
};

/** Until there are none left, `take` says no, nobody reads, or Ctrl-C. */
async function eachEvent(
  events: AsyncIterable<SessionEvent>,
  { stdout, signal }: Io,
  take: (event: SessionEvent) => Promise<boolean>,
): Promise<void> {
  for await (const event of events) {
    if (signal.aborted || stdout.closed) return;
    if (!(await take(event))) return;
  }
}
