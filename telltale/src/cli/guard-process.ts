import { writeSync } from 'node:fs';
import process from 'node:process';
import { endChildren } from './end-children.ts';
import { EXIT } from './exit-code.ts';
import type { Io } from './io.ts';
import { isOwnStop } from './is-own-stop.ts';
import { asTyped } from './session/naming-store.ts';
import { strayError } from './stray-error.ts';

/** Watches over the process while a command is at work. */
export interface ProcessGuard {
  /**
   * Aborted at the first Ctrl-C, SIGTERM or SIGHUP; also when code that nobody waits for throws, and then the reason is
   * a RuntimeError.
   */
  readonly signal: AbortSignal;
  /** Asks `take` at each Ctrl-C first: where it says true, that one does not count. The returned function forgets it. */
  takeInterrupts(take: () => boolean): () => void;
  /** The command is done: how the process ends from now on is its own affair. */
  finished(): void;
}

/** Programs get five seconds to stop, and what they leave behind one more; the log has to be closed behind that. */
const STOP_MS = 10_000;
const STDERR = 2;

/**
 * A process runs code of others: modules of tools. What they throw where nobody can catch it stops the command in
 * order, once, unless it only says that a call was stopped, and `process.exit()` in them is no success. The second
 * Ctrl-C ends the process at once, with all programs that it has started, and says how to go on, with `storeFlag`. Call it
 * once.
 */
export function guardProcess(typed: Pick<Io, 'program'>, storeFlag = ''): ProcessGuard {
  const interrupt = new AbortController();
  let isOver = false;
  const leave = (code: number) => {
    isOver = true;
    endChildren(process.pid);
    process.exit(code);
  };
  const stop = () => {
    if (!interrupt.signal.aborted) interrupt.abort();
    else {
      tell(asTyped(ENDED_AT_ONCE, typed, storeFlag));
      leave(EXIT.interrupted);
    }
  };
  const takers = new Set<() => boolean>();
  for (const name of ['SIGTERM', 'SIGHUP'] as const) process.on(name, stop);
  process.on('SIGINT', () => {
    const isTaken = !interrupt.signal.aborted && [...takers].some((take) => take());
    if (!isTaken) stop();
  });
  process.on('uncaughtException', (thrown) => {
    if (interrupt.signal.aborted || isOwnStop(thrown)) return;
    setTimeout(() => leave(EXIT.failed), STOP_MS).unref();
    interrupt.abort(strayError(thrown));
  });
  process.on('exit', (code) => {
    if (isOver) return;
    endChildren(process.pid);
    process.exitCode = EXIT.failed;
    tell(endedFromWithin(code));
  });
  return {
    signal: interrupt.signal,
    takeInterrupts(take) {
      takers.add(take);
      return () => takers.delete(take);
    },
    finished() {
      isOver = true;
    },
  };
}

/** At once: nothing is waited for any more. Whoever was told may be gone. */
function tell(text: string): void {
  try {
    writeSync(STDERR, text);
  } catch {
    // a terminal that was closed, or a pipe that nobody reads
  }
}

const ENDED_AT_ONCE =
  'Stopped at once. The log has everything up to here: "telltale sessions" lists your sessions, "telltale resume" continues one.\n';

const endedFromWithin = (code: number): string =>
  `error: A tool ended the process before the command was done (exit code ${code}).
  → Its code called process.exit(). Make it return or throw instead. You can resume the session.
`;
