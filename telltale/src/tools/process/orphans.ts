import { type ChildProcess, spawn } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { platform } from 'node:os';
import { type Clock, sleep } from '../../lib/clock.ts';

/**
 * Programs that run without a sandbox outlive a runtime that is killed. Two things end them. A watcher, a small shell
 * process of its own, ends the groups of all running programs as soon as the runtime is gone, however it went. And
 * before a session or a run goes on, the programs that its killed runtime had started are found by a variable in their
 * environment and ended, so that no action starts next to its own orphan.
 */

/** In the environment of every program: the runtime's process, when that began, and what the program was started for. */
const STARTED_BY = 'TELLTALE_STARTED_BY';
/** The same for every attempt of an action, also after a restart. */
const KEY = 'TELLTALE_IDEMPOTENCY_KEY';

/** Between SIGTERM and SIGKILL of an orphan. */
const GRACE_MS = 5_000;
const LOOK_AGAIN_MS = 20;
/** How long a process may take to end by SIGKILL; one that the system cannot end must not hold a session forever. */
const KILLED_MS = 5_000;

/**
 * Reads lines `+ GROUP` and `- GROUP` until its input is closed, which is the end of the runtime. Then it ends what is
 * left: SIGTERM, and after five seconds SIGKILL. The five seconds are those of one `sleep`: on a busy machine, fifty
 * short ones take longer.
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

/** Ends the process group with the runtime, until the returned function is called. */
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
    detached: true, // the end of the runtime's own group must not end it
  });
  started.on('error', () => undefined);
  started.stdin.on('error', () => undefined);
  started.unref();
  (started.stdin as typeof started.stdin & { unref?(): void }).unref?.();
  watcher = started;
  return started;
}

/** The environment of a program that runs without a sandbox. `key`: where the environment has no idempotency key. */
export async function markedEnvironment(
  env: Readonly<Record<string, string>>,
  key = env[KEY] ?? '',
): Promise<Readonly<Record<string, string>>> {
  own ??= processNamed('self');
  const owner = await own;
  return owner === undefined ? env : { ...env, [STARTED_BY]: `${owner.pid}:${owner.began}:${key}` };
}

let own: Promise<ProcessName | undefined> | undefined;

/** What a process is known by: its id can be another one's later. */
interface ProcessName {
  readonly pid: string;
  readonly began: string;
}

/** Undefined where there is no such process, or no `/proc`. */
async function processNamed(pid: string): Promise<ProcessName | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  if (stat === undefined) return undefined;
  // The name, in brackets, may contain anything. The state follows, and the start as the twentieth field from there.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (fields[0] === 'Z') return undefined;
  return { pid: stat.slice(0, stat.indexOf(' ')), began: fields[19] ?? '' };
}

/**
 * Ends the programs that a runtime which is gone had started for what `isOrphaned` says, by its idempotency key. Resolves
 * once they have ended. Only Linux shows the environment of a process; elsewhere the watcher alone ends them.
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
    // One that is started meanwhile by another one is not asked first: SIGKILL gets it in the end.
    if (sent !== signal || signal === 'KILL') await send(signal, orphans);
    sent = signal;
    await sleep(clock, LOOK_AGAIN_MS);
  }
}

interface OrphansOrphan {
  readonly pid: string;
  readonly leadsGroup: boolean;
}

async function findOrphans(isOrphaned: (key: string) => boolean): Promise<readonly OrphansOrphan[]> {
  const names = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  const owners = new Map<string, Promise<boolean>>();
  const found = await Promise.all(
    names.map(async (pid): Promise<readonly OrphansOrphan[]> => {
      const environ = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => ''); // it is another user's, or gone
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

/** By way of a shell, since Node sends signals only through the global process, which is the command line's. */
function send(signal: 'TERM' | 'KILL', orphans: readonly OrphansOrphan[]): Promise<void> {
  const targets = orphans.flatMap(({ pid, leadsGroup }) => (leadsGroup ? [pid, `-${pid}`] : [pid]));
  const line = targets.map((target) => `kill -s ${signal} -- ${target}`).join('; ');
  return new Promise((resolve) => {
    const sender = spawn('/bin/sh', ['-c', line], { stdio: 'ignore' });
    sender.once('error', () => resolve()); // they are looked for again, and killed in the end
    sender.once('exit', () => resolve());
  });
}

/** The programs of a session's actions, or a run's steps, but for those that have ended: they may serve something. */
export const ofStream =
  (id: string, hasEnded: (part: string) => boolean) =>
  (key: string): boolean =>
    key.startsWith(`${id}:`) && !hasEnded(key.slice(id.length + 1));
