import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readlinkSync, rmdirSync, writeFileSync } from 'node:fs';
import { readdir, readFile, rmdir, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

/** The limits of one sandboxed command, including all processes it starts. */
export interface CommandLimits {
  /** Processes and threads at the same time. */
  readonly processes: number;
  readonly memoryBytes: number;
}

/** How each limit is enforced: for the whole command, for each of its processes, or not at all. */
export interface LimitsInForce {
  readonly processes: 'cgroup' | 'rlimit' | 'none';
  readonly memory: 'cgroup' | 'rlimit';
}

/** Sets the limits of commands. */
export interface Limiter {
  readonly inForce: LimitsInForce;
  /** The arguments to put before the sandbox, and before the program inside it. Call `release` after its end. */
  limit(limits: CommandLimits): LimitedStart;
}

export interface LimitedStart {
  readonly outside: readonly string[];
  readonly inside: readonly string[];
  release(): void;
}

/** A folder in which control groups can be created, and what a new group limits. */
interface GroupFolder {
  readonly folder: string;
  readonly sets: 'processes' | 'memory' | 'both';
  readonly version: 1 | 2;
}

const ROOT = '/sys/fs/cgroup';
const TRIAL: CommandLimits = { processes: 64, memoryBytes: 256 * 1024 ** 2 };
const MAX_TRIES = 50;
const TRY_AGAIN_MS = 20;

/**
 * Finds the best way to limit commands. Control groups come first, because they count a command as a whole, also for
 * root. Root can create them, and so can a user to whom a subtree was delegated. Without them, each process of a
 * command has its own limits, and the kernel does not apply the limit on processes to root.
 */
export async function findLimiter(): Promise<Limiter> {
  const places = await groupFolders();
  const usable: GroupFolder[] = [];
  for (const place of places) {
    const missing =
      place.sets === 'both'
        ? usable.length === 0
        : !usable.some(({ sets }) => sets === place.sets || sets === 'both');
    if (missing && (await isUsable(place))) usable.push(place);
  }
  for (const { folder } of usable) await removeStale(folder);
  const holds = (what: 'processes' | 'memory') => usable.some(({ sets }) => sets === what || sets === 'both');
  const inForce: LimitsInForce = {
    processes: holds('processes') ? 'cgroup' : (await isRoot()) ? 'none' : 'rlimit',
    memory: holds('memory') ? 'cgroup' : 'rlimit',
  };
  return {
    inForce,
    limit(limits) {
      const groups: string[] = [];
      const release = () => {
        for (const group of groups) void remove(group);
      };
      try {
        for (const place of usable) groups.push(makeGroup(place, limits));
      } catch (thrown) {
        release();
        throw thrown;
      }
      return { outside: enterGroups(groups), inside: ownLimits(inForce, limits), release };
    },
  };
}

const isRoot = async (): Promise<boolean> => (await stat('/proc/self')).uid === 0;

/** A shell that enters the groups and then becomes the sandbox, so that no part of it ever runs outside them. */
const enterGroups = (groups: readonly string[]): readonly string[] =>
  groups.length === 0
    ? []
    : [
        '/bin/sh',
        '-c',
        'while [ "$1" != -- ]; do echo $$ > "$1/cgroup.procs" || { echo "bwrap: no control group" >&2; exit 1; }; shift; done; shift; exec "$@"',
        'sh',
        ...groups,
        '--',
      ];

/**
 * A shell that lowers its own limits and then becomes the program. Shells use different options for the number of
 * processes.
 */
function ownLimits({ processes, memory }: LimitsInForce, limits: CommandLimits): readonly string[] {
  const lines = [
    ...(memory === 'rlimit' ? [`ulimit -d ${Math.floor(limits.memoryBytes / 1024)}`] : []),
    ...(processes === 'rlimit'
      ? [
          `if (ulimit -u ${limits.processes}) 2> /dev/null; then ulimit -u ${limits.processes}; else ulimit -p ${limits.processes}; fi`,
        ]
      : []),
  ];
  return lines.length === 0 ? [] : ['/bin/sh', '-c', `${lines.join('; ')}; exec "$@"`, 'sh'];
}

/** Where this process could create groups, best first. */
async function groupFolders(): Promise<readonly GroupFolder[]> {
  const lines = (await readFile('/proc/self/cgroup', 'utf8').catch(() => '')).trim().split('\n');
  const found: GroupFolder[] = [];
  for (const line of lines) {
    const [, controllers = '', own = ''] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (controllers === '') {
      // A group that contains processes cannot have limited groups below it, so its parent comes first.
      for (const folder of new Set([dirname(join(ROOT, own)), join(ROOT, own)]))
        if (folder.startsWith(ROOT)) found.push({ folder, sets: 'both', version: 2 });
    }
    for (const [controller, sets] of [
      ['pids', 'processes'],
      ['memory', 'memory'],
    ] as const)
      if (controllers.split(',').includes(controller))
        for (const folder of new Set([join(ROOT, controller, own), join(ROOT, controller)]))
          found.push({ folder, sets, version: 1 });
  }
  return found;
}

/** Whether a group can be created there, limited and entered. */
async function isUsable(place: GroupFolder): Promise<boolean> {
  let group: string | undefined;
  try {
    if (place.version === 2) await offerControllers(place.folder);
    group = makeGroup(place, TRIAL);
    const [program = '', ...args] = [...enterGroups([group]), '/bin/sh', '-c', ':'];
    const code = await new Promise((resolve) => {
      const child = spawn(program, args, { stdio: 'ignore' });
      child.once('error', () => resolve('error'));
      child.once('exit', resolve);
    });
    return code === 0;
  } catch {
    return false; // not usable, which is the answer
  } finally {
    if (group !== undefined) await remove(group);
  }
}

async function offerControllers(folder: string): Promise<void> {
  const file = join(folder, 'cgroup.subtree_control');
  const offered = (await readFile(file, 'utf8')).trim().split(' ');
  if (['pids', 'memory'].some((each) => !offered.includes(each))) await writeFile(file, '+pids +memory');
}

/**
 * Creates a group and returns its folder, whose name tells which process created it. Synchronous, because the kernel
 * answers these files faster than a thread switch takes.
 */
function makeGroup({ folder, sets, version }: GroupFolder, limits: CommandLimits): string {
  const group = join(folder, `telltale-${readlinkSync('/proc/self')}-${randomBytes(6).toString('hex')}`);
  mkdirSync(group);
  try {
    if (sets !== 'memory') writeFileSync(join(group, 'pids.max'), String(limits.processes));
    if (sets !== 'processes') {
      const [memory, swap, swapLimit] =
        version === 2
          ? ['memory.max', 'memory.swap.max', 0]
          : ['memory.limit_in_bytes', 'memory.memsw.limit_in_bytes', limits.memoryBytes];
      writeFileSync(join(group, memory), String(limits.memoryBytes));
      // Not every kernel counts swap.
      if (existsSync(join(group, swap))) writeFileSync(join(group, swap), String(swapLimit));
    }
    return group;
  } catch (thrown) {
    void remove(group);
    throw thrown;
  }
}

/**
 * Removes a group. Its last processes may still be exiting. Whatever cannot be removed now is removed as stale by the
 * next runtime.
 */
async function remove(group: string): Promise<void> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    if (isRemoved(group)) return;
    await wait(TRY_AGAIN_MS, undefined, { ref: false });
  }
}

function isRemoved(group: string): boolean {
  try {
    rmdirSync(group);
    return true;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code !== 'EBUSY';
  }
}

/** Removes groups of runtimes that were killed. */
async function removeStale(folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const [, pid] = /^telltale-(\d+)-[0-9a-f]+$/.exec(basename(name)) ?? [];
    if (pid === undefined) continue;
    const isRunning = await stat(`/proc/${pid}`).then(
      () => true,
      () => false,
    );
    // it is in use, or another process removed it first
    if (!isRunning) await rmdir(join(folder, name)).catch(() => undefined);
  }
}
