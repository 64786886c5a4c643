import { type ChildProcess, spawn } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { platform } from 'node:os';
import { type Clock, sleep } from '../../lib/clock.ts';

/**
 * Programs without a sandbox outlive a runtime that is killed. Two things end them. A watcher, a small separate shell
 * process, ends the process groups of all running programs as soon as the runtime is gone, for whatever reason. And
 * before a session or a run resumes, programs that its killed runtime had started are found by a variable in their
 * environment and ended, so that no action runs next to its own earlier attempt.
 */

/**
 * In the environment of every program: the runtime's process id, its start time, and the idempotency key the program
 * was started for.
 */
const STARTED_BY = 'TELLTALE_STARTED_BY';
/** The same for every attempt of an action, also after a restart. */
const KEY = 'TELLTALE_IDEMPOTENCY_KEY';

/** The time between SIGTERM and SIGKILL. */
const GRACE_MS = 5_000;
const LOOK_AGAIN_MS = 20;
/**
 * How long a process may take to end after SIGKILL. One that the system cannot end must not block a session forever.
 */
const KILLED_MS = 5_000;

/**
 * Reads lines `+ GROUP` and `- GROUP` until its input closes, which means the runtime has ended. Then it sends SIGTERM
 * to the remaining groups, and SIGKILL after five seconds. The five seconds are one `sleep`, because fifty short ones
 * take longer on a busy machine.
 */
const WATCHER = `
trap '' HUP INT TERM
groups=
while read -r change group; do
  if [ "$change" = + ]; then groups="$groups $group"; continue; fi
  rest=
  for each in $groups; do [ "$each" = "$group" ] || rest="$rest $each"; done
  groups=$rest
done
[ -n "$groups" ] || exit 0
for each in $groups; do kill -s TERM -- "-$each"; done
sleep 5 &
grace=$!
while kill -s 0 "$grace"; do
  alive=
  for each in $groups; do kill -s 0 -- "-$each" && alive=1; done
  [ -n "$alive" ] || { kill -s KILL "$grace"; exit 0; }
  sleep 0.1
done
for each in $groups; do kill -s KILL -- "-$each"; done
`;

let watcher: ChildProcess | undefined;

/** Ends a process group with the runtime, until the returned function is called. */
export function watchGroup({ pid }: ChildProcess): () => void {
  if (platform() === 'win32' || pid === undefined) return () => undefined;
  const used = runningWatcher();
  used.stdin?.write(`+ ${pid}\n`);
  return () => void used.stdin?.write(`- ${pid}\n`);
}

function runningWatcher(): ChildProcess {
  if (watcher !== undefined && watcher.exitCode === null && watcher.signalCode === null) return watcher;
  const started = spawn('/bin/sh', ['-c', WATCHER], {
    cwd: '/',
    env: { PATH: '/usr/bin:/bin' },
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true, // the end of the runtime's own process group must not end it
  });
  started.on('error', () => undefined);
  started.stdin.on('error', () => undefined);
  started.unref();
  (started.stdin as typeof started.stdin & { unref?(): void }).unref?.();
  watcher = started;
  return started;
}

/**
 * The environment of a program that runs without a sandbox. `key` is used if the environment has no idempotency key.
 */
export async function markedEnvironment(
  env: Readonly<Record<string, string>>,
  key = env[KEY] ?? '',
): Promise<Readonly<Record<string, string>>> {
  own ??= processNamed('self');
  const owner = await own;
  return owner === undefined ? env : { ...env, [STARTED_BY]: `${owner.pid}:${owner.began}:${key}` };
}

let own: Promise<ProcessName | undefined> | undefined;

/** Identifies a process even after its id is reused. */
interface ProcessName {
  readonly pid: string;
  readonly began: string;
}

/** Undefined if the process does not exist, or there is no `/proc`. */
async function processNamed(pid: string): Promise<ProcessName | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  if (stat === undefined) return undefined;
  // The name in parentheses may contain anything. The state follows it, and the start time is the twentieth field from
  // there.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (fields[0] === 'Z') return undefined;
  return { pid: stat.slice(0, stat.indexOf(' ')), began: fields[19] ?? '' };
}

/**
 * Ends the programs that a terminated runtime had started, if `isOrphaned` returns true for their idempotency key.
 * Resolves once they have ended. Only Linux shows the environment of a process; on other systems only the watcher ends
 * them.
 */
export async function endOrphans(clock: Clock, isOrphaned: (key: string) => boolean): Promise<void> {
  if (platform() !== 'linux') return;
  const since = clock.monotonic();
  let sent: 'TERM' | 'KILL' | undefined;
  for (;;) {
    const orphans = await findOrphans(isOrphaned);
    const passed = clock.monotonic() - since;
    if (orphans.length === 0 || passed > GRACE_MS + KILLED_MS) return;
    const signal = passed > GRACE_MS ? 'KILL' : 'TERM';
    // A program started meanwhile by another orphan gets no SIGTERM, but SIGKILL ends it.
    if (sent !== signal || signal === 'KILL') await send(signal, orphans);
    sent = signal;
    await sleep(clock, LOOK_AGAIN_MS);
  }
}

interface OrphanProcess {
  readonly pid: string;
  readonly leadsGroup: boolean;
}

async function findOrphans(isOrphaned: (key: string) => boolean): Promise<readonly OrphanProcess[]> {
  const names = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  const owners = new Map<string, Promise<boolean>>();
  const found = await Promise.all(
    names.map(async (pid): Promise<readonly OrphanProcess[]> => {
      // it belongs to another user, or has ended
      const environ = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '');
      const at = environ.startsWith(`${STARTED_BY}=`) ? 0 : environ.indexOf(`\0${STARTED_BY}=`) + 1;
      if (at === 0 && !environ.startsWith(`${STARTED_BY}=`)) return [];
      const end = environ.indexOf('\0', at);
      const value = environ.slice(at + STARTED_BY.length + 1, end === -1 ? undefined : end);
      const [, owner = '', began = '', key = ''] = /^(\d+):(\d+):(.*)$/s.exec(value) ?? [];
      if (owner === '' || !isOrphaned(Buffer.from(key, 'latin1').toString('utf8'))) return [];
      let gone = owners.get(`${owner}:${began}`);
      if (gone === undefined) {
        gone = processNamed(owner).then((known) => known?.began !== began);
        owners.set(`${owner}:${began}`, gone);
      }
      if (!(await gone)) return [];
      const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
      const [state, , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return stat === '' || state === 'Z' ? [] : [{ pid, leadsGroup: group === pid }];
    }),
  );
  return found.flat();
}

/**
 * Uses a shell, because Node sends signals only through the global process object, which belongs to the command line.
 */
function send(signal: 'TERM' | 'KILL', orphans: readonly OrphanProcess[]): Promise<void> {
  const targets = orphans.flatMap(({ pid, leadsGroup }) => (leadsGroup ? [pid, `-${pid}`] : [pid]));
  const line = targets.map((target) => `kill -s ${signal} -- ${target}`).join('; ');
  return new Promise((resolve) => {
    const sender = spawn('/bin/sh', ['-c', line], { stdio: 'ignore' });
    sender.once('error', () => resolve()); // the next round finds them again and sends SIGKILL in the end
    sender.once('exit', () => resolve());
  });
}

/**
 * Selects the programs of a session's actions or a run's steps, except for those that have completed, because they may
 * have started a service.
 */
export const isProgramOf =
  (id: string, hasEnded: (part: string) => boolean) =>
  (key: string): boolean =>
    key.startsWith(`${id}:`) && !hasEnded(key.slice(id.length + 1));
