import picocolors from 'picocolors';
import type { Clock } from '../lib/clock.ts';
import type { RuntimeError } from '../lib/errors.ts';
import type { Palette } from '../manifest/format-diagnostic.ts';

/**
 * Whether to print colors. FORCE_COLOR decides if it is set (`0` and `false` mean off, anything else on), as in Node.
 * Then any non-empty NO_COLOR turns colors off. Otherwise a terminal gets colors, unless TERM is `dumb`.
 */
export function wantsColor(env: Readonly<Record<string, string | undefined>>, isTerminal: boolean): boolean {
  const forced = env.FORCE_COLOR;
  if (forced !== undefined) return forced !== '0' && forced.toLowerCase() !== 'false';
  if (env.NO_COLOR) return false;
  return isTerminal && env.TERM !== 'dumb';
}

export const paletteFor = (output: Pick<Output, 'color'>): Palette => picocolors.createColors(output.color);

/** A stream that the command writes to: stdout or stderr. */
export interface Output {
  /**
   * Resolves when the reader has accepted the text, so a slow pipe slows the writer down instead of filling memory.
   * After the reader has gone, writes resolve at once and the text is dropped. On stdout, any other failure (such as a
   * full disk) rejects this write and later ones. On stderr the text is dropped, because nobody is left to tell.
   */
  write(text: string): Promise<void>;
  /** Whether the reader has gone (`telltale … | head`). Long-running writers check this and stop. */
  readonly closed: boolean;
  /** Why a write failed. Undefined if nothing failed or if the reader has just gone. */
  readonly failure: RuntimeError | undefined;
  readonly isTerminal: boolean;
  /** Width of the terminal in columns; undefined for a pipe. */
  readonly columns: number | undefined;
  /** Height of the terminal in rows. */
  readonly rows: number | undefined;
  /** Whether to write color escape sequences: see `wantsColour`. */
  readonly color: boolean;
}

/** Receives what a person types while something else is drawn on the terminal. */
export interface Typing {
  /** The unfinished line, after each key. It is empty once the line was sent. */
  draft(text: string): void;
  /** A finished line without its line break, or several lines if they were pasted together. */
  line(text: string): void;
}

export interface Input extends AsyncIterable<Uint8Array> {
  readonly isTerminal: boolean;
  /**
   * The next line that a person types, without its line break. Undefined at the end of the input and when `signal` is
   * aborted. On a terminal, make only one call at a time; to read the whole input, iterate instead. Input that arrives
   * within `ignoreMs` was typed before the question appeared, and is ignored.
   */
  readLine(signal: AbortSignal, ignoreMs?: number): Promise<string | undefined>;
  /**
   * What a person types after `prompt` on a terminal, with line editing and history. Several pasted lines are one
   * message. `draft` is text that was typed earlier. Undefined at the end of the input and when `signal` is aborted.
   */
  readMessage(prompt: string, signal: AbortSignal, draft?: string): Promise<string | undefined>;
  /**
   * Reports what a person types without echoing it; the caller draws it. Resolves when `signal` is aborted and at the
   * end of the input. Undefined if keys cannot be read.
   */
  readTyping?(signal: AbortSignal, typing: Typing): Promise<void>;
}

/** Everything a command may know about its process. Tests pass a recorded one; see `processIo`. */
export interface Io {
  readonly stdout: Output;
  readonly stderr: Output;
  readonly stdin: Input;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What the user types to start this program: `telltale`, `npx telltale` or `npm start --`. */
  readonly program: string;
  /** Absolute path of the folder in which the command was started. */
  readonly cwd: string;
  /**
   * Aborted at the first Ctrl-C, SIGTERM or SIGHUP. The command then stops its work and returns, and `main` exits with
   * 130. If the reason is a RuntimeError, the command cannot go on: `main` prints the error and exits with 1.
   */
  readonly signal: AbortSignal;
  /**
   * Calls `take` first at each Ctrl-C. If it returns true, that Ctrl-C does not stop the command. Returns a function
   * that removes `take`.
   */
  takeInterrupts(take: () => boolean): () => void;
  readonly clock: Clock;
}
