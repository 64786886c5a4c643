import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import type { NotedOwner } from '../grouped/messages.ts';

/** After so long without a sign of life an owner whose process cannot be looked at counts as dead. */
const LEASE_MS = 30_000;

export interface ProcessIdentity {
  readonly pid: number;
  /** Tells apart two processes that were given the same pid. */
  readonly startedAt: number;
  /** Where pids mean the same: one boot of one machine, and one container on it. */
  readonly place: string;
}

/** Who this process is, and which others are alive. */
export interface ProcessView {
  readonly self: ProcessIdentity;
  isAlive(owner: NotedOwner): boolean;
}

export interface ProcessViewOptions {
  /** Read from /proc where there is one; else 0. */
  readonly pid?: number;
  /** Used where there is no /proc to read it from. */
  readonly processStartedAt?: number;
  /** Whether a process of that pid is there, for systems without /proc (`process.kill(pid, 0)`). */
  readonly pidExists?: (pid: number) => boolean;
}

/** `proc` is where the kernel shows its processes. */
export function createProcessView(options: ProcessViewOptions, proc = '/proc'): ProcessView {
  const boot = readQuietly(() => readFileSync(`${proc}/sys/kernel/random/boot_id`, 'utf8').trim());
  const space = readQuietly(() => readlinkSync(`${proc}/self/ns/pid`));
  const hasProc = boot !== undefined && space !== undefined;
  const pid = options.pid ?? Number(readQuietly(() => readlinkSync(`${proc}/self`)) ?? 0);
  const self: ProcessIdentity = {
    pid,
    startedAt: startTicks(proc, pid) ?? options.processStartedAt ?? 0,
    place: hasProc ? `${boot}/${space}` : hostname(),
  };

  return {
    self,
    isAlive({ pid: other, startedAt, place, beatAgeMs }) {
      const isBeating = Math.abs(beatAgeMs) < LEASE_MS;
      if (place !== self.place) return isBeating;
      // This process lives, of course; but the store of it that owned the stream may have broken down.
      if (other === self.pid) return startedAt === self.startedAt && isBeating;
      if (!hasProc) return isBeating && (options.pidExists?.(other) ?? true);
      return startTicks(proc, other) === startedAt;
    },
  };
}

/** The same of a process of this machine. */
export const processStartedAt = (pid: number): number | undefined => startTicks('/proc', pid);

/** When a process began, in ticks since the boot; undefined if it is gone, or a zombie, or there is no /proc. */
function startTicks(proc: string, pid: number): number | undefined {
  const stat = readQuietly(() => readFileSync(`${proc}/${pid}/stat`, 'utf8'));
  // The second field, the command in brackets, may itself hold spaces and brackets.
  const [state, ...rest] = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
  return state === undefined || state === 'Z' || state === 'X' ? undefined : Number(rest[18]);
}

/** A file of /proc that is not there is an answer, not a failure. */
function readQuietly(read: () => string): string | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
