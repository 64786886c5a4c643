import { eventUnknown, readLog } from '../../agent/log/read-log.ts';
import { sleep } from '../../lib/clock.ts';
import type { SessionEvent } from '../../log/event.ts';
import { reduce } from '../../log/reduce.ts';
import { emptyState } from '../../log/state.ts';
import { type CommandContext, EXIT, type ExitCode, type RegisterCommand } from '../command.ts';
import { type Io, paletteFor } from '../io.ts';
import { usage, wholeNumber } from '../options.ts';
import { createTerminalView, type TerminalView } from '../run/terminal-view.ts';
import { findSession, SESSION_HELP } from '../session/find-session.ts';
import { addStoreOption, eventAsTyped } from '../session/store-options.ts';
import { withStoredSessions } from '../session/with-runtime.ts';
import { positionLine } from '../view/closing-lines.ts';
import { eventJson } from '../view/json-text.ts';
import { createPlainLines } from '../view/plain-lines.ts';

interface ReplayOptions {
  readonly store?: string;
  readonly to?: string;
  readonly step?: true;
  readonly speed?: string;
  readonly instant?: true;
  readonly json?: true;
}

const EXAMPLES = `
${SESSION_HELP} In a pipe it
prints everything at once.

Examples:
  $ telltale replay last                at the original speed
  $ telltale replay last --speed 4      four times as fast
  $ telltale replay last --step         event by event, with Enter
  $ telltale replay last --to 20        up to event 20
`;

export const registerReplay: RegisterCommand = (program, context) => {
  addStoreOption(program.command('replay'))
    .summary('watch a session again, at any speed or step by step')
    .description('Shows a session again from its log, as the live view did. Nothing is run.')
    .argument('<session>', 'which one')
    .option('--to <n>', 'stop after event n')
    .option('--step', 'wait for Enter before each event')
    .option('--speed <x>', 'playback speed (default: 1)')
    .option('--instant', 'show everything at once')
    .option('--json', 'print the events as JSON, one per line')
    .addHelpText('after', EXAMPLES)
    .action(context.run((session: string, options: ReplayOptions) => replay(session, options, context)));
};

async function replay(asked: string, options: ReplayOptions, context: CommandContext): Promise<ExitCode> {
  const { io } = context;
  const last = options.to === undefined ? undefined : wholeNumber('--to', options.to);
  const pace = readPace(options, io);
  return withStoredSessions(context, options, async ({ store }) => {
    const { stream, head } = await findSession(store, asked);
    if (last !== undefined && last > head) throw eventUnknown(stream, last, head);
    const to = last ?? head;
    const events = readLog(store, stream, { to });
    if (options.json === true)
      await eachEvent(events, io, async (event) => {
        await io.stdout.write(eventJson(event));
        return true;
      });
    else await playLog(events, { pace, head, io });
    return EXIT.ok;
  });
}

function readPace(options: ReplayOptions, { stdout, stdin }: Io): Pace {
  const asked = (['step', 'speed', 'instant'] as const).filter((name) => options[name] !== undefined);
  if (asked.length > 1)
    throw usage(`'--${asked[0]}' and '--${asked[1]}' cannot be used together.`, 'Use only one of them.');
  if (options.step === true) {
    if (stdout.isTerminal && stdin.isTerminal) return { kind: 'step' };
    throw usage("'--step' needs a terminal.", 'Leave it out: in a pipe all events are printed at once.');
  }
  const speed = Number(options.speed ?? 1);
  if (!(speed > 0 && Number.isFinite(speed)))
    throw usage(`--speed '${options.speed}' is not a number above 0.`, 'Write --speed 2 for twice as fast.');
  return options.instant === true || !stdout.isTerminal ? { kind: 'instant' } : { kind: 'timed', speed };
}

/** A replay does not pause for days where the session did. */
const MAX_PAUSE_MS = 5000;
const DEFAULT_COLUMNS = 80;

/** How long to wait before an event: its own time, scaled; until a person continues; or not at all. */
export type Pace =
  | { readonly kind: 'timed'; readonly speed: number }
  | { readonly kind: 'step' }
  | { readonly kind: 'instant' };

export interface Play {
  readonly pace: Pace;
  readonly head: number;
  readonly io: Io;
}

/** Shows a log as the live view showed the run, folds it, and prints the state at the end. */
export async function playLog(events: AsyncIterable<SessionEvent>, { pace, head, io }: Play): Promise<void> {
  const { stdout, clock, signal } = io;
  const paint = paletteFor(stdout);
  const state = emptyState();
  const position = () => positionLine(state, head, stdout.columns ?? DEFAULT_COLUMNS, paint);
  /** The time that is shown: that of the last event plus the time since. */
  let shown = { at: 0, since: clock.monotonic() };
  const speed = pace.kind === 'timed' ? pace.speed : 0;
  const view = stdout.isTerminal
    ? createTerminalView(io, {
        now: () => shown.at + (clock.monotonic() - shown.since) * speed,
        still: pace.kind !== 'timed',
        ...(pace.kind === 'step'
          ? { status: () => `${position()} ${paint.dim('Enter: next, q and Enter: leave')} ` }
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

const plainView = (io: Io): Pick<TerminalView, 'show' | 'draw' | 'leave' | 'entered'> => {
  const lines = createPlainLines();
  return {
    show: (event) =>
      io.stdout.write(
        lines(eventAsTyped(event, io))
          .map((line) => `${line}\n`)
          .join(''),
      ),
    draw: async () => {},
    leave: async () => {},
    entered: () => {},
  };
};

/** Until there are no more events, `take` returns false, nobody reads, or Ctrl-C. */
export async function eachEvent(
  events: AsyncIterable<SessionEvent>,
  { stdout, signal }: Io,
  take: (event: SessionEvent) => Promise<boolean>,
): Promise<void> {
  for await (const event of events) {
    if (signal.aborted || stdout.closed) return;
    if (!(await take(event))) return;
  }
}
