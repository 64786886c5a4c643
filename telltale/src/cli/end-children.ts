import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import process from 'node:process';

/** A process table that takes longer is not worth the wait of somebody who has pressed Ctrl-C twice. */
const LOOK_MS = 1_000;

/**
 * Kills the programs that a process has started as leaders of process groups, with all of their groups: nobody is left
 * to end them otherwise. They are found in the system's process table, so that nothing has to be kept for it.
 */
export function endChildren(parent: number): void {
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
