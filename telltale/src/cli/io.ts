import picocolors from 'picocolors';
import type { Clock } from '../lib/clock.ts';
import type { RuntimeError } from '../lib/errors.ts';
import type { Palette } from '../manifest/format-diagnostic.ts';

/**
 * FORCE_COLOR decides if it is set (`0` and `false` are off, anything else is on), as in Node itself; then any
 * non-empty NO_COLOR is off; then a terminal is on, unless it calls itself dumb.
 */
export function wantsColour(env: Readonly<Record<string, string | undefined>>, isTerminal: boolean): boolean {
  const forced = env.FORCE_COLOR;
  if (forced !== undefined) return forced !== '0' && forced.toLowerCase() !== 'false';
  if (env.NO_COLOR) return false;
  return isTerminal && env.TERM !== 'dumb';
}

export const paletteFor = (output: Pick<Output, 'colour'>): Palette => picocolors.createColors(output.colour);

/** One output of the process. */
export interface Output {
  /**
   * Resolves when the reader has taken the text, so that a slow pipe slows the writer down instead of filling
   * memory. Once the reader has gone away writes resolve at once and the text is dropped. Any other failure (a full disk)
   * rejects this write and those behind it on stdout; on stderr the text is dropped: there is nobody left to tell.
   */
  write(text: string): Promise<void>;
  /** Whether the reader has gone away (`telltale … | head`): what writes for long looks here and stops. */
  readonly closed: boolean;
  /** Why it could not be written, where that is not that the reader has gone away. */
  readonly failure: RuntimeError | undefined;
  readonly isTerminal: boolean;
  /** Width of the terminal in columns; undefined in a pipe. */
  readonly columns: number | undefined;
  /** Its height in rows. */
  readonly rows: number | undefined;
  /** Whether escape sequences for colour are welcome: see `wantsColour`. */
  readonly colour: boolean;
}

/** What a person types while something is drawn on the terminal. */
export interface Typing {
  /** The line in hand, after each key; empty once it was sent. */
  draft(text: string): void;
  /** A line, without its end; several where several were pasted. */
  line(text: string): void;
}

export interface Input extends AsyncIterable<Uint8Array> {
  readonly isTerminal: boolean;
  /**
   * The next line that a person types, without its end; undefined at the end of the input and when `signal` is aborted.
   * For a terminal, one call at a time: what is read as a whole is iterated over instead. What comes within `ignoreMs`
   * was typed before it was asked for, and does not count.
   */
  readLine(signal: AbortSignal, ignoreMs?: number): Promise<string | undefined>;
  /**
   * What a person types behind `prompt` on a terminal, with the line editing and the history of one; several lines where
   * several were pasted. `draft` was typed before. Undefined at the end of the input and when `signal` is aborted.
   */
  readMessage(prompt: string, signal: AbortSignal, draft?: string): Promise<string | undefined>;
  /**
   * Tells what a person types, unseen: whoever draws on the terminal shows it. Resolves when `signal` is aborted, and at
   * the end of the input. Absent where keys cannot be read.
   */
  readTyping?(signal: AbortSignal, typing: Typing): Promise<void>;
}

/** Everything a command may know of the process it runs in. Tests pass a recorded one; see `processIo`. */
export interface Io {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly stdin: Input;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** How whoever typed the command starts this program: `telltale`, `npx telltale`, `npm start --`. */
  readonly program: string;
  /** Absolute path of the folder the command was started in. */
  readonly cwd: string;
  /**
   * Aborted at the first Ctrl-C, SIGTERM or SIGHUP: a command stops its work and returns; `main` then ends with 130.
   * Where the reason is a RuntimeError, that is why it cannot go on: `main` shows it and ends with 1.
   */
  readonly signal: AbortSignal;
  /** Asks `take` at each Ctrl-C first: where it says true, that one does not stop the command. Returns how to forget it. */
  takeInterrupts(take: () => boolean): () => void;
  readonly clock: Clock;
}
