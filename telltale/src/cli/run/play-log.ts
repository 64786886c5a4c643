import { sleep } from '../../lib/clock.ts';
import type { SessionEvent } from '../../log/event.ts';
import { reduce } from '../../log/reduce.ts';
import { emptyState } from '../../log/state.ts';
import type { Io } from '../io.ts';
import { paletteFor } from '../io.ts';
import { eventAsTyped } from '../session/store-options.ts';
import { positionLine } from '../view/closing-lines.ts';
import { createPlainLines } from '../view/plain-lines.ts';
import { createTerminalView, type TerminalView } from './terminal-view.ts';

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
