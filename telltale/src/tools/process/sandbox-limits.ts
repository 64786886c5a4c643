import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readlinkSync, rmdirSync, writeFileSync } from 'node:fs';
import { readdir, readFile, rmdir, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

/** What one sandboxed command may use, with all the processes that it starts. */
export interface CommandLimits {
  /** Processes and threads at a time. */
  readonly processes: number;
  readonly memoryBytes: number;
}

/** By what each limit is held here: for the whole command, for each process of it, or not at all. */
export interface LimitsInForce {
  readonly processes: 'cgroup' | 'rlimit' | 'none';
  readonly memory: 'cgroup' | 'rlimit';
}

/** How the limits of a command are set. */
export interface Limiter {
  readonly inForce: LimitsInForce;
  /** What has to be written in front of the sandbox, and of the program inside. `release` after its end. */
  limit(limits: CommandLimits): LimitedStart;
}

export interface LimitedStart {
  readonly outside: readonly string[];
  readonly inside: readonly string[];
  release(): void;
}

/** A folder in which groups can be made, and what is written to a new one. */
interface GroupPlace {
  readonly folder: string;
  readonly sets: 'processes' | 'memory' | 'both';
  readonly version: 1 | 2;
}

const ROOT = '/sys/fs/cgroup';
const TRIAL: CommandLimits = { processes: 64, memoryBytes: 256 * 1024 ** 2 };
const MAX_TRIES = 50;
const TRY_AGAIN_MS = 20;

/**
 * Prefers control groups, which count a command as a whole, also for root. They can be made by root, and by a user whose
 * own part of the tree was delegated. Elsewhere each process of a command has limits of its own; for its number of
 * processes the kernel does not hold root to that.
 */
export async function findLimiter(): Promise<Limiter> {
  const places = await groupPlaces();
  const usable: GroupPlace[] = [];
  for (const place of places) {
    const missing =
      place.sets === 'both'
        ? usable.length === 0
        : !usable.some(({ sets }) => sets === place.sets || sets === 'both');
    if (missing && (await works(place))) usable.push(place);
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
      return { outside: entering(groups), inside: ownLimits(inForce, limits), release };
    },
  };
}

const isRoot = async (): Promise<boolean> => (await stat('/proc/self')).uid === 0;

/** A shell that enters the groups and becomes the sandbox, so that nothing of it is ever outside of them. */
const entering = (groups: readonly string[]): readonly string[] =>
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

/** A shell that lowers its own limits and becomes the program. What shells call the number of processes differs. */
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

/** Where this process could make groups, the best first. */
async function groupPlaces(): Promise<readonly GroupPlace[]> {
  const lines = (await readFile('/proc/self/cgroup', 'utf8').catch(() => '')).trim().split('\n');
  const found: GroupPlace[] = [];
  for (const line of lines) {
    const [, controllers = '', own = ''] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (controllers === '') {
      // A group with processes in it cannot have groups with limits below it, so the one above comes first.
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

/** Whether a group can be made there, limited and entered. */
async function works(place: GroupPlace): Promise<boolean> {
  let group: string | undefined;
  try {
    if (place.version === 2) await offerControllers(place.folder);
    group = makeGroup(place, TRIAL);
    const [program = '', ...args] = [...entering([group]), '/bin/sh', '-c', ':'];
    const code = await new Promise((resolve) => {
      const child = spawn(program, args, { stdio: 'ignore' });
      child.once('error', () => resolve('error'));
      child.once('exit', resolve);
    });
    return code === 0;
  } catch {
    return false; // not ours to use: that is the answer
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
 * Its folder, whose name says which process made it. Synchronous: these files are the kernel's own, and each takes less
 * time than a change of threads.
 */
function makeGroup({ folder, sets, version }: GroupPlace, limits: CommandLimits): string {
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

/** Its last processes may still be on their way out. What cannot be removed now goes with the next runtime's stale ones. */
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

/** Groups of runtimes that were killed. */
async function removeStale(folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const [, pid] = /^telltale-(\d+)-[0-9a-f]+$/.exec(basename(name)) ?? [];
    if (pid === undefined) continue;
    const isRunning = await stat(`/proc/${pid}`).then(
      () => true,
      () => false,
    );
    if (!isRunning) await rmdir(join(folder, name)).catch(() => undefined); // it is being used, or another one was quicker
  }
}
