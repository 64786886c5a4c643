import type { ObservedEvent } from '../../events/event.ts';
import { paletteFor } from '../colour.ts';
import type { Io } from '../io.ts';
import { eventAsTyped } from '../session/naming-store.ts';
import { shellWord } from '../usage.ts';
import { closingLines } from '../view/closing-lines.ts';
import { clip } from '../view/columns.ts';
import type { Debug } from '../view/debug.ts';
import { createLiveScreen } from '../view/live-screen.ts';
import { runNote } from '../view/run-note.ts';
import type { RunView } from './run-view.ts';
import { BREAKING_OFF, isOverWith, STOPPING } from './tell-slow-stop.ts';
import { createTerminalFrames, type FramesOptions, type TerminalFrames } from './terminal-frames.ts';

export interface TerminalView extends RunView, Pick<TerminalFrames, 'draw' | 'entered'> {}

export interface TerminalViewOptions extends FramesOptions {
  /** The line at the bottom; undefined leaves it to the view. */
  readonly status?: () => string | undefined;
  readonly debug?: Debug;
  /** ` --store X` where commands about the session need it; undefined where it is gone with this process. */
  readonly storeFlag?: string | undefined;
}

/** Characters at the end of an id, by which it is found. */
const SHORT_ID = 6;
const DEFAULT_COLUMNS = 80;
const DEFAULT_ROWS = 24;
/** A line of progress may stand where the next line goes. */
const CLEAR_LINE = '\r\u001b[K';

/** The command that shows all of a result. */
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
    const text = signal.aborted ? STOPPING : isBreakingOff ? BREAKING_OFF : undefined;
    return text === undefined ? undefined : paint.yellow(clip(text, columns() - 1));
  };
  const screen = createLiveScreen({
    paint,
    size: () => ({ columns: columns(), rows: stdout.rows ?? DEFAULT_ROWS }),
    status: () => options.status?.() ?? stopping(),
    debug: options.debug ?? {},
    whole: showingWhole(io, options.storeFlag),
  });
  const frames = createTerminalFrames(io, screen, options);
  let hasEnded = false;
  const typed = <E extends object>(event: E): E => eventAsTyped(event, io, options.storeFlag);
  return {
    ...frames,
    async show(event: ObservedEvent) {
      if (isOverWith(event)) isBreakingOff = false;
      screen.show(typed(event));
      frames.changed();
    },
    breaksOff() {
      isBreakingOff = true;
      frames.changed();
    },
    recall: (event) => screen.recall(typed(event)),
    typed(draft, isWaited) {
      screen.typed(draft, isWaited);
      if (!hasEnded) frames.changed();
    },
    tell(text) {
      if (hasEnded) return;
      screen.tell(text);
      frames.changed();
    },
    async note(event) {
      // Runs go on when the session is over, and with it the screen.
      if (hasEnded) {
        const line = runNote(typed(event), columns() - 1, paint, options.debug);
        if (line !== undefined) await stdout.write(`${CLEAR_LINE}${line}\n`);
        return;
      }
      screen.note(typed(event));
      frames.changed();
    },
    async lead(event) {
      if (hasEnded) return;
      screen.lead(typed(event));
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
