import type { Io } from '../io.ts';
import type { Frame } from '../view/live-screen.ts';
import { createPainter } from '../view/painter.ts';

/** What is drawn: see `LiveScreen`. */
export interface Screen {
  frame(now: number): Frame;
  finish(now: number): readonly string[];
}

export interface FramesOptions {
  /** The time that is shown; that of the clock by default. */
  readonly now?: () => number;
  /** Draws only when asked to. */
  readonly still?: boolean;
}

/** Keeps a terminal up to date with a screen: at most thirty times a second, and never while it has not taken the last. */
export interface TerminalFrames {
  /** Says that the screen has changed. */
  changed(): void;
  /** Draws in a second, unless the screen changes before: what goes on has nothing to show yet. */
  waits(): void;
  /** Draws at once, and resolves when it is on the terminal. */
  draw(): Promise<void>;
  /** Tells that a person has pressed Enter. */
  entered(): void;
  /** Writes what is left, for good. */
  leave(): Promise<void>;
  /** Leaves the terminal to `ask` while it lasts. */
  aside<T>(ask: (draft: string) => Promise<T>): Promise<T>;
}

const FRAME_MS = 33;
const SPIN_MS = 100;
const QUIET_MS = 1_000;
const DEFAULT_COLUMNS = 80;

export function createTerminalFrames(
  { stdout, clock }: Pick<Io, 'stdout' | 'clock'>,
  screen: Screen,
  { now = clock.now, still = false }: FramesOptions = {},
): TerminalFrames {
  const columns = () => stdout.columns ?? DEFAULT_COLUMNS;
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

  return {
    changed() {
      if (failure !== undefined) throw failure;
      if (still || isDue || isAside) return;
      isDue = true;
      arm(FRAME_MS);
    },
    waits() {
      if (!still && !isDue && !isAside) arm(QUIET_MS);
    },
    draw: () => write(painter.paint(screen.frame(now()), columns())),
    entered: () => painter.entered(),
    async leave() {
      cancel();
      const rest = screen.finish(now()).map((line) => `${line}\n`);
      await write(painter.clear(columns()) + rest.join(''));
      if (failure !== undefined) throw failure;
    },
    async aside(ask) {
      isAside = true;
      cancel();
      try {
        // What came before the question stands above it.
        if (!still) await write(painter.paint(screen.frame(now()), columns()));
        await write(painter.clear(columns()));
        return await ask('');
      } finally {
        isAside = false;
        isDue = true;
        arm(FRAME_MS);
      }
    },
  };
}
