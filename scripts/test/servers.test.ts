import { describe, expect, test } from 'vitest';
import { type Machine, planServers, setUpServers } from '../check/servers.ts';

const machine = (more: Partial<Machine>): Machine => ({
  has: () => false,
  isDebian: true,
  isRoot: true,
  ...more,
});

async function setUp(more: Partial<Machine>, code = 0) {
  const [said, ran]: [string[], string[]] = [[], []];
  const progress = {
    start: () => undefined,
    end: (line?: string) => {
      if (line !== undefined) said.push(line);
    },
  };
  await setUpServers(progress, machine(more), async (command, args) => {
    ran.push([command, ...args].join(' '));
    return { code, output: 'E: Unable to locate package\n' };
  });
  return { said, ran };
}

describe('the servers that tests need', () => {
  test('are left alone where they are installed', async () => {
    expect(planServers(machine({ has: () => true }))).toEqual({ kind: 'nothing' });
    expect(await setUp({ has: () => true })).toEqual({ said: [], ran: [] });
  });

  test('are installed by root on a Debian, only those that are missing, and it is said', async () => {
    expect(await setUp({ has: (program) => program !== 'redis-server' })).toEqual({
      ran: ['apt-get update', 'apt-get install -y --no-install-recommends redis-server'],
      said: ['✓ servers: installed redis-server (apt-get)'],
    });
  });

  test('are not installed by anybody else: it is said how to', async () => {
    expect(await setUp({ isRoot: false })).toEqual({
      ran: [],
      said: [expect.stringContaining('sudo apt-get install redis-server bubblewrap chromium')],
    });
    expect(await setUp({ isDebian: false })).toEqual({
      ran: [],
      said: [expect.stringContaining('install redis-server and bubblewrap and chromium with your system')],
    });
  });

  test('are there under any of their names', () => {
    const has = (program: string) => ['redis-server', 'bwrap', 'google-chrome'].includes(program);
    expect(planServers(machine({ has }))).toEqual({ kind: 'nothing' });
  });

  test('that cannot be installed do not end the check: what apt-get said is shown', async () => {
    const { said, ran } = await setUp({}, 100);
    expect(ran).toEqual(['apt-get update']);
    expect(said).toEqual([expect.stringContaining('E: Unable to locate package')]);
  });
});
