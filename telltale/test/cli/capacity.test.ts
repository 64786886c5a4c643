import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type TestDatabase, testDatabase } from '../servers/shared-postgres.ts';

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
metadata: { fields: { count: { type: integer } } }
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
import: { agents: [./agent.yml], workflows: [./flow.yml] }
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

const START = new URL('../../src/cli/start.ts', import.meta.url).href;
const SCRIPT = `const { start } = await import(${JSON.stringify(START)});
process.exit(await start(process.argv.slice(1)));`;

let homes = 0;
function newHome(kind: 'sqlite' | 'postgres') {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'telltale-capacity-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text);
  const store =
    kind === 'sqlite' ? 'sqlite:store.db' : `${database.url}?schema=capacity_${++homes}&lease=1500`;
  const journal = (): readonly string[] =>
    existsSync(join(folder, 'journal'))
      ? readFileSync(join(folder, 'journal'), 'utf8').trim().split('\n')
      : [];
  return {
    folder,
    journal,
    hold: () => writeFileSync(join(folder, 'hold'), ''),
    go: () => rmSync(join(folder, 'hold'), { force: true }),
    /** The most that were at work at once, of one process or of all. */
    most(pid?: number): number {
      let [now, most] = [0, 0];
      for (const line of journal()) {
        const [what, of] = line.split(' ');
        if (pid !== undefined && Number(of) !== pid) continue;
        now += what === 'begin' ? 1 : -1;
        most = Math.max(most, now);
      }
      return most;
    },
    start: (...args: readonly string[]) => started(folder, store, args),
  };
}

async function started(cwd: string, store: string, args: readonly string[]) {
  const child: ChildProcess = spawn(
    process.execPath,
    ['--input-type=module', '-e', SCRIPT, '--', ...args, '--json'],
    { cwd, env: { PATH: process.env.PATH, TELLTALE_STORE: store } },
  );
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  let [out, err] = ['', ''];
  child.stdout?.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr?.on('data', (chunk) => {
    err += chunk;
  });
  await Promise.race([expect.poll(() => out, { timeout: 60_000 }).toMatch(/\n$/), ended]);
  if (out === '') throw new Error(err);
  const { url } = JSON.parse(out) as { readonly url: string };
  const ask = async (path: string, init?: RequestInit) => {
    const answer = await fetch(`${url}${path}`, init);
    const body = JSON.parse((await answer.text()) || '{}') as Record<string, unknown>;
    return { status: answer.status, headers: answer.headers, body };
  };
  return {
    pid: child.pid ?? 0,
    err: () => err,
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
    get: async (path: string) => (await ask(path)).body,
    metrics: async () => (await fetch(`${url}/metrics`)).text(),
    post: (path: string, body: object) =>
      ask(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
  };
}

type Started = Awaited<ReturnType<typeof started>>;

const startSession = (server: Started, agent = 'helper') =>
  server.post('/sessions', { agent, input: 'Go.' });
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
