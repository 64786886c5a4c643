import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeSync } from 'node:fs';
import process from 'node:process';
import { isStopReason, RuntimeError, thrownPlace, toRuntimeError } from '../lib/errors.ts';
import { EXIT } from './command.ts';
import type { Io } from './io.ts';
import { asTyped } from './session/store-options.ts';
import { sentences } from './view/text-width.ts';

/** Handles signals and uncaught errors while a command runs. */
export interface ProcessGuard {
  /**
   * Aborted at the first Ctrl-C, SIGTERM or SIGHUP. Also aborted when code throws and nobody catches it; then the
   * reason is a RuntimeError.
   */
  readonly signal: AbortSignal;
  /**
   * Calls `take` first at each Ctrl-C. If it returns true, that Ctrl-C is ignored. Returns a function that removes
   * `take`.
   */
  takeInterrupts(take: () => boolean): () => void;
  /** Call this when the command is done. From then on the guard does not change how the process ends. */
  finished(): void;
}

/** Programs get 5 s to stop and what they leave running gets 1 s more. Then the log must be closed. */
const STOP_MS = 10_000;
const STDERR = 2;

/**
 * Call it once per process. Tool modules run in this process. An error that they throw and nobody catches stops the
 * command once, in order, unless it only reports that a call was stopped. `process.exit()` in a module does not count
 * as success. The second Ctrl-C ends the process at once, kills all programs that it started, and prints how to
 * continue (with `storeFlag`).
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
      const { isTTY, columns } = process.stderr;
      const lines = sentences(
        ENDED_AT_ONCE.map((line) => asTyped(line, typed, storeFlag)),
        isTTY ? columns : undefined,
      );
      // The line of progress and the terminal's ^C stand where the text would begin.
      writeNow(`${isTTY ? '\n' : ''}${lines.join('\n')}\n`);
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
    writeNow(endedFromWithin(code));
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

/** Writes synchronously, because nothing is awaited any more. The reader may be gone. */
function writeNow(text: string): void {
  try {
    writeSync(STDERR, text);
  } catch {
    // The terminal was closed, or nobody reads the pipe.
  }
}

const ENDED_AT_ONCE = [
  'Stopped at once. The log has everything up to here.',
  'To list your sessions: telltale sessions',
  'To continue the newest one: telltale resume last',
];

const endedFromWithin = (code: number): string =>
  `error: A tool ended the process before the command was done (exit code ${code}).
  → Its code called process.exit(). Make it return or throw instead. You can resume the session.
`;

/** Wraps what was thrown outside any caller: in a timer, or in a promise that nobody awaits. */
export function strayError(thrown: unknown): RuntimeError {
  const place = thrownPlace(thrown);
  return new RuntimeError(
    'stray_error',
    `An error was not caught${place === undefined ? '' : ` (thrown at ${place})`}: ${saidBy(thrown)}`,
    {
      hint: 'A tool probably returned before its work was done. Use "await" in the tool, or catch the error there.',
      cause: thrown,
    },
  );
}

function saidBy(thrown: unknown): string {
  try {
    return thrown instanceof Error ? thrown.message : String(thrown);
  } catch {
    return toRuntimeError(thrown).message; // Reading the error's own properties may throw.
  }
}

/**
 * An AbortError of a child process has the abort reason as its cause. A call that was stopped because of it may have
 * the AbortError as its cause.
 */
const MAX_CAUSES = 8;

/**
 * Whether an uncaught error only reports a stop that this process asked for. It does if it is the reason that a signal
 * was aborted with, or an AbortError that this reason caused: for example a child process with a call's signal and no
 * listener, or a request that nobody awaits any more. The error's own message does not matter, and a timeout of anybody
 * else is an error like any other.
 */
export function isOwnStop(thrown: unknown): boolean {
  try {
    let at = thrown;
    for (let depth = 0; depth < MAX_CAUSES; depth++) {
      if (isStopReason(at)) return true;
      if (!(at instanceof RuntimeError) && !(at instanceof Error && at.name === 'AbortError')) return false;
      at = at.cause;
    }
    return false;
  } catch {
    return false; // Reading the error's own properties may throw.
  }
}

/** Somebody who pressed Ctrl-C twice should not wait longer for the process table. */
const PROCESS_TABLE_MS = 1_000;

/**
 * Kills the process groups of all programs that a process has started, because nobody else will. It finds them in the
 * system's process table, so nothing has to keep track of them.
 */
function endChildren(parent: number): void {
  for (const group of groupsOf(parent, processTable())) {
    try {
      process.kill(-group, 'SIGKILL');
    } catch {
      // It has ended in the meantime.
    }
  }
}

/** The child processes that lead a process group. The lines of `table` are: pid, parent, group. */
export function groupsOf(parent: number, table: string): readonly number[] {
  return table
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .filter(([pid, ppid, pgid]) => ppid === parent && pid === pgid)
    .map(([pid]) => pid as number);
}

function processTable(): string {
  if (process.platform === 'win32') return '';
  if (process.platform === 'linux') return readdirSync('/proc').map(statLine).join('\n');
  const options = { encoding: 'utf8', timeout: PROCESS_TABLE_MS } as const;
  return spawnSync('ps', ['-A', '-o', 'pid=,ppid=,pgid='], options).stdout ?? '';
}

/**
 * `/proc/PID/stat` is `PID (NAME) STATE PARENT GROUP …`, and NAME may contain anything. It is read directly because
 * small Linux systems have no `ps`.
 */
function statLine(pid: string): string {
  if (!/^\d+$/.test(pid)) return '';
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const [, parent, group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return `${pid} ${parent} ${group}`;
  } catch {
    return ''; // It has ended since the folder was read.
  }
}
