import { spawnSync } from 'node:child_process';
import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

const MARK = 'TELLTALE_BENCH_PINNED';

/**
 * Runs this script again on one core and ends with its exit code; returns how the process runs once it is that second
 * one. Without `taskset` (not Linux) it stays on all cores and says so.
 */
export async function pinToOneCore(): Promise<string> {
  const pinned = process.env[MARK];
  if (pinned !== undefined) return pinned;
  const core = await idlestCore();
  const command = ['-c', String(core), process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  if (spawnSync('taskset', ['-c', String(core), process.execPath, '--version']).status !== 0)
    return 'not pinned: taskset is not to be had';
  const env = { ...process.env, [MARK]: `pinned to core ${core} with taskset` };
  const { status } = spawnSync('taskset', command, { stdio: 'inherit', env });
  process.exit(status ?? 1);
}

async function idlestCore(): Promise<number> {
  const idle = () => cpus().map((core) => core.times.idle);
  const before = idle();
  await sleep(250);
  const gained = idle().map((time, index) => time - before[index]!);
  return gained.indexOf(Math.max(...gained));
}
