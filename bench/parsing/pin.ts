import { spawnSync } from 'node:child_process';
import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

const MARK = 'TELLTALE_BENCH_PINNED';

/**
 * Runs this script again on one core, with the garbage collector exposed, and ends with its exit code; returns how the
 * process runs once it is that second one. Without `taskset` (not Linux) it stays on all cores and says so.
 */
export async function pinToOneCore(): Promise<string> {
  const pinned = process.env[MARK];
  if (pinned !== undefined) return pinned;
  const core = await idlestCore();
  const node = [process.execPath, '--expose-gc', ...process.execArgv, ...process.argv.slice(1)];
  const again = (mark: string, command: readonly string[]) =>
    spawnSync(command[0]!, command.slice(1), { stdio: 'inherit', env: { ...process.env, [MARK]: mark } });
  const canPin = spawnSync('taskset', ['-c', String(core), process.execPath, '--version']).status === 0;
  const { status } = canPin
    ? again(`pinned to core ${core} with taskset`, ['taskset', '-c', String(core), ...node])
    : again('not pinned: taskset is not to be had', node);
  process.exit(status ?? 1);
}

async function idlestCore(): Promise<number> {
  const idle = () => cpus().map((core) => core.times.idle);
  const before = idle();
  await sleep(250);
  const gained = idle().map((time, index) => time - before[index]!);
  return gained.indexOf(Math.max(...gained));
}
