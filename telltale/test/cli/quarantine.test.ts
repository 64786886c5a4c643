import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type TestDatabase, testDatabase } from '../servers/shared-postgres.ts';
import { fleetHome, type Started } from './fleet-home.ts';
import { spawned } from './spawned.ts';

const AGENT = `kind: Agent
name: helper
model: scripted:./turns.yml
import: { tools: [./slow.yml] }
`;
const CHANGED = `${AGENT}instructions: Do something else.\n`;
const FILES = {
  'slow.mjs': `import { appendFileSync, existsSync } from 'node:fs';
export async function run(_parameters, { signal }) {
  appendFileSync('journal', \`begin \${process.pid}\\n\`);
  while (existsSync('hold')) {
    signal.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return 'held';
}
`,
  'slow.yml': `kind: Tool
name: slow
idempotent: true
parameters: { type: object, properties: {} }
implementation: { module: ./slow.mjs }
`,
  'agent.yml': AGENT,
  'turns.yml': `turns:
  - '<action id="a">{"name": "slow"}</action>'
  - '<response>Held.</response>'
`,
};

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.remove());

let homes = 0;
const newHome = (schema = `quarantine_${++homes}`) =>
  fleetHome(FILES, `${database.url}?schema=${schema}&lease=1500`);
type Home = ReturnType<typeof newHome>;

const PATIENT = { timeout: 45_000 };
/** Much less than a first pause and its tries would take. */
const AT_ONCE = { timeout: 15_000 };

/** A session that a command began and was stopped in. */
async function leave(home: Home): Promise<void> {
  home.hold();
  const before = home.journal().length;
  const command = spawned(['run', 'agent.yml', 'Go.', '--store', home.store], home.folder);
  await expect.poll(() => home.journal().length, PATIENT).toBeGreaterThan(before);
  command.child.kill('SIGINT');
  await command.ended;
  home.go();
}

const fleetOf = async (server: Started) =>
  (await server.get('/fleet')) as unknown as {
    readonly queue: { readonly laidAside: number };
    readonly laidAside: readonly { readonly code: string; readonly why: string; readonly stream: string }[];
  };
const codesOf = async (server: Started) => (await fleetOf(server)).laidAside.map(({ code }) => code);
const completed = async (server: Started) =>
  ((await server.get('/sessions?status=completed')).items as readonly object[]).length;

describe('a session that no worker of a fleet can go on with', () => {
  it('since its manifest changed is quarantined at once, and everybody says why, until it is resumed with the change', async () => {
    const home = newHome();
    await leave(home);
    home.write('agent.yml', CHANGED);
    const server = await home.start('serve', 'agent.yml', '--port', '0');
    await expect.poll(() => codesOf(server), AT_ONCE).toEqual(['manifest_changed']);
    expect(await server.metrics()).toContain('telltale_quarantined{reason="manifest_changed"} 1');
    expect(server.err()).toMatch(/ses_\w+ is quarantined.*\[manifest_changed\]/);
    const shown = spawned(['fleet', '--json', '--store', home.store], home.folder);
    const told = JSON.parse((await shown.ended).out) as { laidAside: readonly object[] };
    expect(told.laidAside).toMatchObject([{ kind: 'session', code: 'manifest_changed' }]);
    const [aside] = (await fleetOf(server)).laidAside;
    const id = String(aside?.stream);
    const why = expect.stringContaining('manifest');
    const quarantine = { why, at: expect.any(Number), release: 'retry', code: 'manifest_changed' };
    const row = expect.objectContaining({ id, status: 'quarantined', quarantine });
    expect(await server.get(`/sessions/${id}`)).toEqual(row);
    expect(await server.get('/sessions')).toEqual({ items: [row] });
    expect(await server.get('/sessions?status=quarantined')).toEqual({ items: [row] });
    expect(await server.get('/sessions?status=quarantined&agent=nobody')).toEqual({ items: [] });
    expect(await server.get('/runs?status=quarantined')).toEqual({ items: [] });
    expect(await server.get('/sessions?status=running,waiting')).toEqual({ items: [] });
    const page = await spawned(['show', id, '--store', home.store], home.folder).ended;
    expect(page.out).toMatch(new RegExp(`quarantined: .*manifest[^]*telltale fleet retry ${id}`));
    const again = spawned(['resume', 'last', '--accept-changes', '--store', home.store], home.folder);
    const { code, err } = await again.ended;
    expect(code, err).toBe(0);
    expect(await codesOf(server)).toEqual([]);
    expect(await server.metrics()).not.toContain('telltale_quarantined{');
  });

  it('is tried again when a worker comes that has its manifest', async () => {
    const home = newHome();
    await leave(home);
    home.write('agent.yml', CHANGED);
    const server = await home.start('serve', 'agent.yml', '--port', '0');
    await expect.poll(() => codesOf(server), AT_ONCE).toEqual(['manifest_changed']);
    await server.kill('SIGTERM');
    home.write('agent.yml', AGENT);
    const next = await home.start('serve', 'agent.yml', '--port', '0');
    await expect.poll(() => completed(next), AT_ONCE).toBe(1);
    expect(await codesOf(next)).toEqual([]);
  });

  it('is tried again by `POST /fleet/:id/retry`, and quarantined again where nothing was fixed', async () => {
    const home = newHome();
    await leave(home);
    rmSync(join(home.folder, 'turns.yml'));
    rmSync(join(home.folder, 'slow.yml'));
    home.write('agent.yml', 'kind: Agent\nname: other\nmodel: scripted:./other.yml\n');
    home.write('other.yml', "turns: ['<response>Done.</response>']\n");
    const server = await home.start('serve', 'agent.yml', '--port', '0');
    await expect.poll(async () => (await codesOf(server)).length, AT_ONCE).toBe(1);
    const [aside] = (await fleetOf(server)).laidAside;
    expect((await server.post(`/fleet/${aside?.stream}/retry`, {})).status).toBe(202);
    await expect.poll(() => server.err().match(/is quarantined/g)?.length, AT_ONCE).toBe(2);
    expect(await codesOf(server)).toEqual([aside?.code]);
  });
});

describe('a fleet in the middle of a deploy', () => {
  it('goes on with old sessions where a worker still has their manifest, and quarantines none of them', async () => {
    const [old, begun] = [newHome('deploy'), newHome('deploy')];
    for (let n = 0; n < 3; n += 1) await leave(begun);
    // What it was begun with is only on the old worker from here on.
    rmSync(join(begun.folder, 'agent.yml'));
    const fresh = newHome('deploy');
    fresh.write('agent.yml', CHANGED);
    const [server] = await Promise.all([
      fresh.start('serve', 'agent.yml', '--port', '0'),
      old.start('worker', 'agent.yml'),
    ]);
    await expect.poll(() => completed(server), PATIENT).toBe(3);
    expect(await codesOf(server)).toEqual([]);
  });
});
