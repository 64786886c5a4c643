import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeSync } from 'node:fs';
import process from 'node:process';
import { isStopReason, RuntimeError, thrownPlace, toRuntimeError } from '../lib/errors.ts';
import { EXIT } from './command.ts';
import type { Io } from './io.ts';
import { asTyped } from './session/store-options.ts';

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

/** What was thrown where nobody could catch it: in a timer, or in a promise that nobody waits for. */
export function strayError(thrown: unknown): RuntimeError {
  const place = thrownPlace(thrown);
  return new RuntimeError(
    'stray_error',
    `Code that nothing awaits failed${place === undefined ? '' : ` at ${place}`}: ${saidBy(thrown)}`,
    {
      hint: 'A tool returned before its work was done: wait for it with "await", or catch what it throws.',
      cause: thrown,
    },
  );
}

function saidBy(thrown: unknown): string {
  try {
    return thrown instanceof Error ? thrown.message : String(thrown);
  } catch {
    return toRuntimeError(thrown).message; // something that throws when it is looked at
  }
}

/** A program's AbortError has the reason for its cause, and a call that was stopped for it may have that one. */
const MAX_CAUSES = 8;

/**
 * Whether something that nobody caught only says that it was stopped as this process had asked: it is the very reason that
 * a signal was aborted with, or an error of an abort that this reason caused. A program that was spawned with the signal
 * of a call and that nobody listens to, a request that nobody waits for any more. What it says counts for nothing: a
 * time-out of somebody else's is an error like any other.
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
    return false; // something that throws when it is looked at
  }
}

/** A process table that takes longer is not worth the wait of somebody who has pressed Ctrl-C twice. */
const LOOK_MS = 1_000;

/**
 * Kills the programs that a process has started as leaders of process groups, with all of their groups: nobody is left
 * to end them otherwise. They are found in the system's process table, so that nothing has to be kept for it.
 */
function endChildren(parent: number): void {
  for (const group of groupsOf(parent, processTable())) {
    try {
      process.kill(-group, 'SIGKILL');
    } catch {
      // It has ended by itself meanwhile.
    }
  }
}

/** The children of a process that lead a group of their own, in lines of pid, parent and group. */
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
  const options = { encoding: 'utf8', timeout: LOOK_MS } as const;
  return spawnSync('ps', ['-A', '-o', 'pid=,ppid=,pgid='], options).stdout ?? '';
}

/** `/proc/PID/stat` is `PID (NAME) STATE PARENT GROUP …`, and the name may hold anything. Small Linuxes have no `ps`. */
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
