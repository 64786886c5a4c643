import type { ObservedEvent } from '../../log/event.ts';
import { type Io, paletteFor } from '../io.ts';
import { shellWord } from '../options.ts';
import { eventAsTyped } from '../session/store-options.ts';
import { closingLines } from '../view/closing-lines.ts';
import type { Debug } from '../view/describe-event.ts';
import { createLiveScreen, type Frame } from '../view/live-screen.ts';
import { createPainter } from '../view/plain-lines.ts';
import { runNote } from '../view/run-note.ts';
import { clip } from '../view/text-width.ts';
import { endsInterruptedTurn, STOPPING, STOPPING_TURN } from './report-slow-stop.ts';
import type { RunView } from './run-view.ts';

export interface TerminalView extends RunView, Pick<TerminalFrames, 'draw' | 'entered'> {}

export interface TerminalViewOptions extends FramesOptions {
  /** The line at the bottom. Undefined leaves it to the view. */
  readonly status?: () => string | undefined;
  readonly debug?: Debug;
  /** Whether this terminal asks what waits for a person. */
  readonly asks?: boolean;
  /** ` --store X`, if commands about the session need it. Undefined if the session is gone when this process ends. */
  readonly storeFlag?: string | undefined;
}

/** How many characters at the end of an id are shown. They are enough to find it. */
const SHORT_ID = 6;
const DEFAULT_COLUMNS = 80;
const DEFAULT_ROWS = 24;
/** Removes a progress line that may be on the row. */
const CLEAR_LINE = '\r\u001b[K';

/** The command that shows the whole result. */
export const showingWhole =
  ({ program }: Pick<Io, 'program'>, storeFlag: string | undefined) =>
  (stream: string, action: string): string | undefined =>
    storeFlag === undefined
      ? undefined
      : `${program} show ${stream.slice(-SHORT_ID)} --action ${shellWord(action)}${storeFlag}`;

/** The live view of a run. */
export function createTerminalView(io: Io, options: TerminalViewOptions = {}): TerminalView {
  const { stdout, signal } = io;
  const paint = paletteFor(stdout);
  const columns = () => stdout.columns ?? DEFAULT_COLUMNS;
  let isBreakingOff = false;
  const stopping = () => {
    const text = signal.aborted ? STOPPING : isBreakingOff ? STOPPING_TURN : undefined;
    return text === undefined ? undefined : paint.yellow(clip(text, columns() - 1));
  };
  const screen = createLiveScreen({
    paint,
    size: () => ({ columns: columns(), rows: stdout.rows ?? DEFAULT_ROWS }),
    status: () => options.status?.() ?? stopping(),
    debug: options.debug ?? {},
    asks: options.asks === true,
    whole: showingWhole(io, options.storeFlag),
  });
  const frames = createTerminalFrames(io, screen, options);
  let hasEnded = false;
  const typed = <E extends object>(event: E): E => eventAsTyped(event, io, options.storeFlag);
  return {
    ...frames,
    showWaiting: frames.waits,
    async show(event: ObservedEvent) {
      if (endsInterruptedTurn(event)) isBreakingOff = false;
      screen.show(typed(event));
      frames.changed();
    },
    showInterrupting() {
      isBreakingOff = true;
      frames.changed();
    },
    recall: (event) => screen.recall(typed(event)),
    showTyped(draft, isWaited) {
      screen.typed(draft, isWaited);
      if (!hasEnded) frames.changed();
    },
    showLine(text) {
      if (hasEnded) return;
      screen.addLine(text);
      frames.changed();
    },
    async showRunEvent(event) {
      // Workflow runs continue after the session has ended, and its screen with it.
      if (hasEnded) {
        const line = runNote(typed(event), columns() - 1, paint, options.debug);
        if (line !== undefined) await stdout.write(`${CLEAR_LINE}${line}\n`);
        return;
      }
      screen.addRunEvent(typed(event));
      frames.changed();
    },
    async showGuidingRun(event) {
      if (hasEnded) return;
      screen.addGuidingRunEvent(typed(event));
      frames.changed();
    },
    aside: (ask) => (hasEnded ? ask('') : frames.aside(ask)),
    async end(result, times) {
      hasEnded = true;
      await frames.leave();
      await stdout.write(`\n${closingLines(result, times, paint, columns() - 1).join('\n')}\n`);
    },
  };
}

/** What is drawn: see `LiveScreen`. */
export interface Screen {
  frame(now: number): Frame;
  finish(now: number): readonly string[];
}

export interface FramesOptions {
  /** The time to show. By default, the clock's. */
  readonly now?: () => number;
  /** Draws only when asked to. */
  readonly still?: boolean;
}

/**
 * Keeps a terminal up to date with a screen: at most 30 times a second, and never before the terminal has taken the
 * last frame.
 */
export interface TerminalFrames {
  /** Reports that the screen has changed. */
  changed(): void;
  /** Draws in a second unless the screen changes earlier, because there is nothing to show yet. */
  waits(): void;
  /** Draws at once, and resolves when the frame is on the terminal. */
  draw(): Promise<void>;
  /** Reports that a person has pressed Enter. */
  entered(): void;
  /** Writes the remaining lines. */
  leave(): Promise<void>;
  /** Gives the terminal to `ask` until it is done. */
  aside<T>(ask: (draft: string) => Promise<T>): Promise<T>;
}

const FRAME_MS = 33;
const SPIN_MS = 100;
const QUIET_MS = 1_000;
const USUAL_COLUMNS = 80;

export function createTerminalFrames(
  { stdout, clock }: Pick<Io, 'stdout' | 'clock'>,
  screen: Screen,
  { now = clock.now, still = false }: FramesOptions = {},
): TerminalFrames {
  const columns = () => stdout.columns ?? USUAL_COLUMNS;
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
        // Earlier lines must be above the question.
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
