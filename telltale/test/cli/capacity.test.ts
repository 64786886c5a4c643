import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type TestDatabase, testDatabase } from '../servers/shared-postgres.ts';
import { fleetHome, type Started } from './fleet-home.ts';

/** Says when it begins and ends, and in which process. */
const TOOL = `import { appendFileSync, existsSync } from 'node:fs';
export async function run(_parameters, { signal }) {
  appendFileSync('journal', \`begin \${process.pid}\\n\`);
  try {
    const until = Date.now() + 100;
    while (existsSync('hold') || Date.now() < until) {
      signal.throwIfAborted();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  } finally {
    appendFileSync('journal', \`end \${process.pid}\\n\`);
  }
  return 'held';
}
`;
const FILES = {
  'slow.mjs': TOOL,
  'slow.yml': `kind: Tool
name: slow
idempotent: true
parameters: { type: object, properties: {} }
implementation: { module: ./slow.mjs }
`,
  'agent.yml': `kind: Agent
name: helper
model: scripted:./turns.yml
import: { tools: [./slow.yml], workflows: [./flow.yml] }
`,
  'turns.yml': `turns:
  - '<action id="a">{"name": "slow"}</action>'
  - '<response>Held.</response>'
`,
  'flow.yml': `kind: Workflow
name: flow
steps: [{ name: hold, type: tool, target: slow, parameters: {} }]
`,
  // One that triggers many workflows at once.
  'burst.yml': `kind: Agent
name: burst
model: scripted:./burst-turns.yml
import: { tools: [./slow.yml], workflows: [./on-done.yml] }
metadata: { fields: { count: { type: number } } }
`,
  'burst-turns.yml': `turns:
  - |
${Array.from({ length: 20 }, (_, n) => `    <metadata>{"count": ${n + 1}}</metadata>\n`).join('')}    <response>Done.</response>
  - '<response>Done.</response>'
`,
  'on-done.yml': `kind: Workflow
name: on_done
trigger: { type: metadata_match, conditions: { count: { gte: 1 } }, fire: on_update }
steps: [{ name: hold, type: tool, target: slow, parameters: {} }]
`,
  // One that calls another: the caller holds the only place.
  'chief.yml': `kind: Agent
name: chief
model: scripted:./chief-turns.yml
import: { tools: [./slow.yml], agents: [./agent.yml], workflows: [./flow.yml] }
`,
  'chief-turns.yml': `turns:
  - |
    <action type="agent" id="o">{"name": "helper", "parameters": {"input": "Go."}}</action>
    <action type="workflow" id="w">{"name": "flow"}</action>
  - '<response>Both are done.</response>'
`,
};
const AGENTS = ['agent.yml', 'burst.yml', 'chief.yml'];

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.remove());

let homes = 0;
const newHome = (kind: 'sqlite' | 'postgres') =>
  fleetHome(
    FILES,
    kind === 'sqlite' ? 'sqlite:store.db' : `${database.url}?schema=capacity_${++homes}&lease=1500`,
  );

const startSession = (server: Started, agent = 'helper') => server.post('/sessions', { agent, input: 'Go.' });
const completed = async (server: Started, what: 'sessions' | 'runs') =>
  ((await server.get(`/${what}?status=completed&limit=200`)).items as readonly object[]).length;
const PATIENT = { timeout: 60_000 };

describe.each(['postgres', 'sqlite'] as const)('a server with --capacity on %s', (kind) => {
  it('works on no more than that of a burst of 200 sessions, and refuses the rest with 429', async () => {
    const home = newHome(kind);
    const server = await home.start('serve', ...AGENTS, '--port', '0', '--capacity', '10');
    home.hold();
    const answers = await Promise.all(Array.from({ length: 200 }, () => startSession(server)));
    const refused = answers.filter(({ status }) => status === 429);
    const accepted = answers.filter(({ status }) => status === 201);
    expect(accepted).toHaveLength(10);
    expect(refused).toHaveLength(190);
    for (const { body, headers } of refused) {
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
      expect(body).toMatchObject({ error: { code: 'fleet_full', retryable: true } });
    }
    await expect.poll(() => home.most(), PATIENT).toBe(10);
    home.go();
    await expect.poll(() => completed(server, 'sessions'), PATIENT).toBe(10);
    expect((await startSession(server)).status).toBe(201);
    expect(home.most()).toBe(10);
  });

  it('takes runs beyond that, and works on no more of them at once', async () => {
    const home = newHome(kind);
    const server = await home.start('serve', ...AGENTS, '--port', '0', '--capacity', '4');
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => server.post('/runs', { agent: 'helper', workflow: 'flow' })),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    await expect.poll(() => completed(server, 'runs'), PATIENT).toBe(30);
    expect(home.most()).toBeLessThanOrEqual(4);
  });

  it('counts the workflows that sessions trigger', async () => {
    const home = newHome(kind);
    const server = await home.start('serve', ...AGENTS, '--port', '0', '--capacity', '3');
    expect((await startSession(server, 'burst')).status).toBe(201);
    await expect.poll(() => completed(server, 'runs'), PATIENT).toBe(20);
    expect(home.most()).toBeLessThanOrEqual(3);
  });

  it('lets a session in its last place call agents and workflows', async () => {
    const home = newHome(kind);
    const server = await home.start('serve', ...AGENTS, '--port', '0', '--capacity', '1');
    const { body } = await startSession(server, 'chief');
    await expect
      .poll(async () => (await server.get(`/sessions/${body.id}`)).status, PATIENT)
      .toBe('completed');
  });

  it('goes on with what a killed server left, no more than that at once', async () => {
    const home = newHome(kind);
    const first = await home.start('serve', ...AGENTS, '--port', '0', '--capacity', '8');
    home.hold();
    const answers = await Promise.all(Array.from({ length: 8 }, () => startSession(first)));
    expect(answers.every(({ status }) => status === 201)).toBe(true);
    await expect.poll(() => home.most(), PATIENT).toBe(8);
    await first.kill();
    home.go();
    const second = await home.start('serve', ...AGENTS, '--port', '0', '--capacity', '2');
    await expect.poll(() => completed(second, 'sessions'), PATIENT).toBe(8);
    expect(home.most(second.pid)).toBeLessThanOrEqual(2);
  });
});

describe('a fleet', () => {
  it('takes as many sessions as its processes have places, whichever of them is asked, and no more', async () => {
    const home = newHome('postgres');
    const one = await home.start('serve', ...AGENTS, '--port', '0', '--capacity', '3');
    const two = await home.start('serve', ...AGENTS, '--port', '0', '--capacity', '2');
    home.hold();
    const answers = await Promise.all(Array.from({ length: 60 }, () => startSession(one)));
    const accepted = answers.filter(({ status }) => status === 201).length;
    expect(accepted).toBeGreaterThanOrEqual(5);
    expect(accepted).toBeLessThanOrEqual(7);
    await expect.poll(() => home.most(), PATIENT).toBe(5);
    expect(home.most(one.pid)).toBe(3);
    expect(home.most(two.pid)).toBe(2);
    home.go();
    await expect.poll(() => completed(one, 'sessions'), PATIENT).toBe(accepted);
    expect(home.most(one.pid)).toBe(3);
    expect(home.most(two.pid)).toBe(2);
  });
});
