import { spawn } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';

/**
 * Sends SIGTERM to everything inside a sandbox, and not to the sandbox itself: that would end at once and take the rest
 * with it, without the time to clean up. `pid` is bubblewrap's. Resolves when it has been sent.
 */
export async function signalInside(pid: number): Promise<void> {
  const inside = descendants(pid, await parents());
  if (inside.length === 0) return;
  await new Promise<void>((resolve) => {
    const sender = spawn('/bin/sh', ['-c', `kill -s TERM -- ${inside.join(' ')}`], { stdio: 'ignore' });
    sender.once('error', () => resolve()); // SIGKILL follows after the grace
    sender.once('exit', () => resolve());
  });
}

/** Every process with its parent. What ends meanwhile is left out. */
async function parents(): Promise<ReadonlyMap<number, number>> {
  const found = new Map<number, number>();
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  await Promise.all(
    pids.map(async (pid) => {
      const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
      // The name, in brackets, may hold anything; behind it come the state and the parent.
      const parent = /^ \S (\d+)/.exec(stat.slice(stat.lastIndexOf(')') + 1))?.[1];
      if (parent !== undefined) found.set(Number(pid), Number(parent));
    }),
  );
  return found;
}

function descendants(pid: number, parentOf: ReadonlyMap<number, number>): readonly number[] {
  const found: number[] = [];
  const waiting = [pid];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop())
    for (const [child, parent] of parentOf)
      if (parent === at) {
        found.push(child);
        waiting.push(child);
      }
  return found;
}
