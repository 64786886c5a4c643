import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { eventually, PATIENT } from '../store/eventually.ts';
import { labRound } from './lab-round.ts';
import { kindsOf } from './plan-faults.ts';

const SEED = 1;
const TIMEOUT_MS = 240_000;
/** What every fleet goes through: the file's own are what is tried on SQLite. */
const OF_EVERY_HOME = ['stop', 'term', 'clock'] as const;

describe('the crash laboratory', () => {
  it.concurrent('has a fleet over PostgreSQL go through a fault of every kind, and nothing is lost, done twice or out of order', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const kinds = kindsOf('postgres');
    const round = await labRound({
      seed: SEED,
      faults: kinds.length,
      home: 'postgres',
      workers: 2,
      atOnce: 4,
    });
    expect(round.verdict.breaches).toEqual([]);
    expect(Object.keys(round.given).sort()).toEqual([...kinds].sort());
  });

  it.concurrent('has processes on one SQLite file be killed, find its disk full and the file locked, and nothing is lost', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const without = [...OF_EVERY_HOME];
    const round = await labRound({ seed: SEED, faults: 4, home: 'sqlite', workers: 2, without, atOnce: 3 });
    expect(round.verdict.breaches).toEqual([]);
  });

  // Options of its own: `concurrent` is written into what it is given.
  it.concurrent('leaves no process and no disk behind when it is killed itself, not even stopped ones', {
    ...PATIENT,
  }, async () => {
    const program = fileURLToPath(new URL('./leashed.ts', import.meta.url));
    const lab = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'inherit'] });
    let said = '';
    lab.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    const [pid = '', folder = ''] = await eventually(() => {
      expect(said).toContain('\n');
      return said.trim().split(' ');
    });
    expect(stateOf(pid)).toBe('T');
    lab.kill('SIGKILL');
    await eventually(() => expect([undefined, 'Z']).toContain(stateOf(pid)));
    await eventually(() => expect(readFileSync('/proc/mounts', 'utf8')).not.toContain(folder));
  });
});

/** The letter that the system has for what a process does; undefined where there is none. */
function stateOf(pid: string): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2)[0];
  } catch {
    return undefined;
  }
}
