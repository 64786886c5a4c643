import type { ObservedEvent } from '../../events/event.ts';
import { paletteFor } from '../colour.ts';
import type { Io } from '../io.ts';
import { closingLines } from '../view/closing-lines.ts';
import { clip } from '../view/columns.ts';
import { createLiveScreen } from '../view/live-screen.ts';
import { createPainter } from '../view/painter.ts';
import type { RunView } from './run-view.ts';

export interface TerminalView extends RunView {
  /** Draws at once, and resolves when it is on the terminal. */
  draw(): Promise<void>;
  /** Tells that a person has pressed Enter. */
  entered(): void;
}

export interface TerminalViewOptions {
  /** The time that is shown; that of the clock by default. */
  readonly now?: () => number;
  /** The line at the bottom; undefined leaves it to the view. */
  readonly status?: () => string | undefined;
  /** Draws only when asked to. */
  readonly still?: boolean;
}

const FRAME_MS = 33;
const SPIN_MS = 100;
const DEFAULT_COLUMNS = 80;
const DEFAULT_ROWS = 24;

/** The live view of a run: draws at most thirty times a second, and never while the terminal has not taken the last. */
export function createTerminalView(io: Io, options: TerminalViewOptions = {}): TerminalView {
  const { stdout, clock, signal } = io;
  const { now = clock.now, still = false } = options;
  const paint = paletteFor(stdout);
  const columns = () => stdout.columns ?? DEFAULT_COLUMNS;
  const stopping = () =>
    signal.aborted ? paint.yellow(clip('stopping; Ctrl-C again ends at once', columns() - 1)) : undefined;
  const screen = createLiveScreen({
    paint,
    size: () => ({ columns: columns(), rows: stdout.rows ?? DEFAULT_ROWS }),
    status: () => options.status?.() ?? stopping(),
  });
  const painter = createPainter();
  let cancel = () => {};
  let isDue = false;
  let isAside = false;
  let writing = Promise.resolve();
  let isWriting = false;
  let failure: unknown;

  const write = (text: string): Promise<void> => {
    isWriting = true;
    writing = writing
      .then(() => stdout.write(text))
      .then(
        () => {
          isWriting = false;
        },
        (thrown) => {
          failure ??= thrown;
        },
      );
    return writing;
  };
  const arm = (delayMs: number) => {
    cancel();
    cancel = clock.after(delayMs, tick);
  };
  const tick = () => {
    if (!isWriting) {
      isDue = false;
      void write(painter.paint(screen.frame(now()), columns()));
    }
    arm(isDue ? FRAME_MS : SPIN_MS);
  };
  const leave = async () => {
    cancel();
    await write(
      painter.clear(columns()) +
        screen
          .finish(now())
          .map((line) => `${line}\n`)
          .join(''),
    );
    if (failure !== undefined) throw failure;
  };

  return {
    async show(event: ObservedEvent) {
      if (failure !== undefined) throw failure;
      screen.show(event);
      if (still || isDue || isAside) return;
      isDue = true;
      arm(FRAME_MS);
    },
    recall: (event) => screen.recall(event),
    draw: () => write(painter.paint(screen.frame(now()), columns())),
    entered: () => painter.entered(),
    leave,
    async end(result, overlap) {
      await leave();
      await stdout.write(`\n${closingLines(result, overlap, paint, columns() - 1).join('\n')}\n`);
    },
    async aside(ask) {
      isAside = true;
      cancel();
      try {
        await write(painter.clear(columns()));
        return await ask();
      } finally {
        isAside = false;
        isDue = true;
        arm(FRAME_MS);
      }
    },
  };
}
