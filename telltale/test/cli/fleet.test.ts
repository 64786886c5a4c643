import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type TestDatabase, testDatabase } from '../servers/shared-postgres.ts';

const BIN = fileURLToPath(new URL('../../bin/telltale.js', import.meta.url));
/** The tool takes as long as the test wants: until a file is there. */
const TOOL = `import { appendFileSync, existsSync } from 'node:fs';
export async function run({ until }, { idempotencyKey, signal }) {
  appendFileSync('journal', \`begin \${idempotencyKey} \${process.pid}\\n\`);
  while (!existsSync(until)) {
    signal.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  appendFileSync('journal', \`end \${idempotencyKey} \${process.pid}\\n\`);
  return 'held';
}
`;
const FILES = {
  'hold.mjs': TOOL,
  'hold.yml': `kind: Tool
name: hold
description: Waits for a file.
idempotent: true
parameters: { type: object, properties: { until: { type: string } }, required: [until] }
implementation: { module: ./hold.mjs }
`,
  'agent.yml': `kind: Agent
name: helper
model: scripted:./turns.yml
import: { tools: [./hold.yml], workflows: [./flow.yml, ./sleep.yml, ./single.yml] }
instructions: Do it.
`,
  'flow.yml': `kind: Workflow
name: flow
steps: [{ name: say, type: script, script: "'said'" }]
`,
  'sleep.yml': `kind: Workflow
name: sleep
steps: [{ name: rest, type: wait, event: custom, match: { name: up } }, { name: say, type: script, script: "'said'" }]
`,
  'single.yml': `kind: Workflow
name: single
trigger: { type: manual, concurrency: { max: 1, when_busy: queue } }
steps: [{ name: rest, type: wait, event: custom }]
`,
  'turns.yml': `turns:
  - |
    <action type="tool" mode="sync" id="a">{"name": "hold", "parameters": {"until": "go"}}</action>
  - |
    <response>All is held.</response>
`,
};
/** An agent that calls another one, which asks a person. */
const TEAM = {
  'chief.yml': `kind: Agent
name: chief
model: scripted:./chief.turns.yml
import: { agents: [./ops.yml] }
`,
  'chief.turns.yml': `turns:
  - |
    <action type="agent" id="o">{"name": "ops", "parameters": {"input": "Ship it."}}</action>
    <response>Ops: $o</response>
`,
  'ops.yml': `kind: Agent
name: ops
model: scripted:./ops.turns.yml
import: { tools: [./deploy.yml] }
`,
  'ops.turns.yml': `turns:
  - |
    <action id="d">{"name": "deploy"}</action>
    <response>$d</response>
`,
  'deploy.yml': 'kind: Tool\nname: deploy\napproval: always\nimplementation: { module: ./deploy.mjs }\n',
  'deploy.mjs': "export const run = async () => 'deployed';\n",
};
/** Short, so that the tests are. */
const LEASE = 'lease=1500';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.remove());

let fleets = 0;
/** A fleet of its own in the database, and a folder with its agents. */
function newFleet() {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'telltale-fleet-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text);
  const store = `${database.url}?schema=fleet_${++fleets}&${LEASE}`;
  return {
    folder,
    store,
    go: () => writeFileSync(join(folder, 'go'), ''),
    journal: () =>
      existsSync(join(folder, 'journal'))
        ? readFileSync(join(folder, 'journal'), 'utf8').trim().split('\n')
        : [],
    run: (...args: readonly string[]) => started(folder, store, [...args, '--json']),
  };
}

async function started(cwd: string, store: string, args: readonly string[]) {
  const child: ChildProcess = spawn(process.execPath, [BIN, ...args], {
    cwd,
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      TELLTALE_STORE: store,
    },
  });
  const ended = new Promise<number | string | null>((resolve) =>
    child.once('exit', (code, signal) => resolve(code ?? signal)),
  );
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
  await Promise.race([expect.poll(() => out).toMatch(/\n$/), ended]);
  const told = (out === '' ? {} : JSON.parse(out)) as Record<string, unknown>;
  const url = String(told.url);
  const ask = async (path: string, init?: RequestInit) => {
    const headers = { authorization: `Bearer ${told.token}`, ...init?.headers };
    const answer = await fetch(`${url}${path}`, { ...init, headers });
    const body = JSON.parse((await answer.text()) || '{}') as Record<string, unknown>;
    return { status: answer.status, headers: answer.headers, body };
  };
  return {
    told,
    pid: child.pid ?? 0,
    err: () => err,
    ended,
    kill: async (signal: NodeJS.Signals) => {
      child.kill(signal);
      return signal === 'SIGSTOP' || signal === 'SIGCONT' ? undefined : ended;
    },
    get: async (path: string) => (await ask(path)).body,
    post: (path: string, body: object) =>
      ask(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
  };
}

type Started = Awaited<ReturnType<typeof started>>;

const startHelper = async (server: Started): Promise<string> =>
  String((await server.post('/sessions', { agent: 'helper', input: 'Go.' })).body.id);
const statusOf = async (server: Started, session: string) =>
  (await server.get(`/sessions/${session}`)).status;
const typesOf = async (server: Started, session: string): Promise<readonly string[]> =>
  ((await server.get(`/sessions/${session}/events?limit=200`)).items as { readonly type: string }[]).map(
    ({ type }) => type,
  );

describe('a fleet', () => {
  it('works on what a full server was asked for, and any server tells of it', async () => {
    const fleet = newFleet();
    const [small, other] = [
      await fleet.run('serve', '--port', '0', '--capacity', '1'),
      await fleet.run('serve', '--port', '0', '--capacity', '4'),
    ];
    const [first, second] = [await startHelper(small), await startHelper(small)];
    // Which of them has it, the tool's journal says.
    await expect.poll(() => new Set(fleet.journal().map((line) => line.split(' ')[2])).size).toBe(2);
    const { body } = await small.post(`/sessions/${second}/steer`, { text: 'Well?' });
    expect(body).toEqual({});
    await expect.poll(() => typesOf(small, second)).toContain('message.received');
    fleet.go();
    for (const session of [first, second]) {
      await expect.poll(() => statusOf(small, session)).toBe('completed');
      expect(await typesOf(small, session)).toEqual(await typesOf(other, session));
    }
    const shown = (await small.get('/fleet')) as { readonly workers: readonly object[] };
    expect(shown).toMatchObject({ fleet: 'telltale', queue: { waiting: 0, laidAside: 0 } });
    expect(shown.workers).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          pid: small.pid,
          role: 'serve',
          capacity: 1,
          alive: true,
          url: small.told.url,
        }),
        expect.objectContaining({ pid: other.pid, role: 'serve', capacity: 4, alive: true }),
      ]),
    );
  });

  it('goes on elsewhere, in the middle of a turn, when a worker is stopped in order or killed', async () => {
    const fleet = newFleet();
    const server = await fleet.run('serve', '--port', '0', '--capacity', '1');
    const doomed = await fleet.run('worker', '--capacity', '8');
    expect(doomed.told).toEqual({ fleet: 'telltale', store: expect.not.stringContaining('pass') });
    await startHelper(server); // takes the server's only place
    const sessions = [await startHelper(server), await startHelper(server)];
    await expect.poll(() => fleet.journal().filter((line) => line.endsWith(` ${doomed.pid}`)).length).toBe(2);
    const second = await fleet.run('worker', '--capacity', '8');
    expect(await doomed.kill('SIGTERM'), doomed.err()).toBe(0);
    expect(doomed.err()).toContain('Handing sessions over');
    await expect.poll(() => fleet.journal().filter((line) => line.endsWith(` ${second.pid}`)).length).toBe(2);
    const third = await fleet.run('worker', '--capacity', '8');
    expect(await second.kill('SIGKILL')).toBe('SIGKILL');
    await expect.poll(() => fleet.journal().filter((line) => line.endsWith(` ${third.pid}`)).length).toBe(2);
    fleet.go();
    for (const session of sessions) {
      await expect.poll(() => statusOf(server, session)).toBe('completed');
      const types = await typesOf(server, session);
      expect(types.filter((type) => type === 'session.resumed').length).toBeGreaterThanOrEqual(3);
      expect(types.filter((type) => type === 'action.completed')).toHaveLength(1);
    }
    // Each was called again with the same key, and ended once.
    const ends = fleet.journal().filter((line) => line.startsWith('end'));
    expect(new Set(ends.map((line) => line.split(' ')[1])).size).toBe(3);
    expect(ends).toHaveLength(3);
  });

  it('goes on with what a command was stopped in, and the command says so', async () => {
    const fleet = newFleet();
    const run = spawn(process.execPath, [BIN, 'run', 'agent.yml', 'Go.'], {
      cwd: fleet.folder,
      env: { PATH: process.env.PATH, TELLTALE_STORE: fleet.store },
    });
    onTestFinished(() => void run.kill('SIGKILL'));
    let err = '';
    run.stderr.on('data', (chunk) => {
      err += chunk;
    });
    await expect.poll(() => fleet.journal().length).toBe(1);
    run.kill('SIGINT');
    expect(await new Promise((resolve) => run.once('exit', resolve))).toBe(130);
    expect(err).toMatch(/A worker of the fleet continues it.*telltale cancel ses_/);
    const worker = await fleet.run('worker');
    await expect.poll(() => fleet.journal().at(-1)).toContain(` ${worker.pid}`);
  });

  it('refuses what a worker writes that was paused for longer than its lease', async () => {
    const fleet = newFleet();
    const server = await fleet.run('serve', '--port', '0', '--capacity', '1');
    const paused = await fleet.run('worker', '--capacity', '8');
    await startHelper(server);
    const session = await startHelper(server);
    await expect.poll(() => fleet.journal().some((line) => line.endsWith(` ${paused.pid}`))).toBe(true);
    await paused.kill('SIGSTOP');
    const other = await fleet.run('worker', '--capacity', '8');
    await expect.poll(() => fleet.journal().some((line) => line.endsWith(` ${other.pid}`))).toBe(true);
    fleet.go();
    await expect.poll(() => statusOf(server, session)).toBe('completed');
    await paused.kill('SIGCONT');
    await expect
      .poll(async () => JSON.stringify(await server.get('/fleet')))
      .toMatch(new RegExp(`"pid":${paused.pid}[^}]*"alive":true`));
    const types = await typesOf(server, session);
    expect(types.filter((type) => type === 'action.completed')).toHaveLength(1);
    expect(types.at(-1)).toBe('session.completed');
  });

  it('that is full answers 429 and begins nothing; what it took is worked on when there is room', async () => {
    const fleet = newFleet();
    const server = await fleet.run('serve', '--port', '0', '--capacity', '1');
    const answers: number[] = [];
    let refused: Awaited<ReturnType<Started['post']>> | undefined;
    while (refused === undefined && answers.length < 300) {
      const answer = await server.post('/sessions', { agent: 'helper', input: 'Go.' });
      answers.push(answer.status);
      if (answer.status !== 201) refused = answer;
    }
    expect(refused?.status).toBe(429);
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(refused?.body).toMatchObject({ error: { code: 'fleet_full', retryable: true } });
    const accepted = answers.filter((status) => status === 201).length;
    fleet.go();
    const completed = async () =>
      ((await server.get('/sessions?status=completed&limit=200')).items as readonly object[]).length;
    await expect.poll(completed, { timeout: 50_000 }).toBe(accepted);
  });

  it('has a place again while the agent of a session waits for a person, and goes on with it when that is answered', async () => {
    const fleet = newFleet();
    for (const [name, text] of Object.entries(TEAM)) writeFileSync(join(fleet.folder, name), text);
    fleet.go();
    const server = await fleet.run('serve', '--port', '0', '--capacity', '1');
    const { body } = await server.post('/sessions', { agent: 'chief', input: 'Go.' });
    const chief = String(body.id);
    await expect.poll(() => statusOf(server, chief)).toBe('waiting');
    const beside = await startHelper(server);
    await expect.poll(() => statusOf(server, beside)).toBe('completed');
    const { items } = await server.get(`/reviews?session=${chief}`);
    const [{ review } = { review: '' }] = items as readonly { readonly review: string }[];
    // By a process that works on nothing: whoever has room finds what is to be done.
    const answer = await fleet.run('reviews', 'approve', review);
    expect(await answer.ended, answer.err()).toBe(0);
    await expect.poll(() => statusOf(server, chief)).toBe('completed');
    expect((await typesOf(server, `${chief}.o`)).filter((type) => type === 'review.requested')).toHaveLength(
      1,
    );
  });

  it('works on a run where it was begun, and elsewhere where that process is full', async () => {
    const fleet = newFleet();
    // Nobody else is there: a command works on its own.
    const alone = await fleet.run('workflow', 'run', 'agent.yml', 'flow');
    expect(await alone.ended, alone.err()).toBe(0);
    expect(alone.told).toMatchObject({ status: 'completed', output: 'said' });
    const full = await fleet.run('serve', '--port', '0', '--capacity', '1');
    await startHelper(full);
    await expect.poll(() => fleet.journal().length).toBe(1);
    const { status, body } = await full.post('/runs', { agent: 'helper', workflow: 'flow' });
    expect(status).toBe(201);
    await fleet.run('worker', '--capacity', '4');
    await expect.poll(async () => (await full.get(`/runs/${body.id}`)).status).toBe('completed');
  });

  it('gives runs that were started by hand their turns, over all its servers, also those of one that was killed', async () => {
    const fleet = newFleet();
    const [server, other] = [
      await fleet.run('serve', '--port', '0'),
      await fleet.run('serve', '--port', '0'),
    ];
    const waitsFor = (run: string) =>
      expect.poll(
        async () => (await server.get(`/runs/${run}/state`)).waiting as { readonly for: string } | undefined,
      );
    const begin = async (at: Started) =>
      String((await at.post('/runs', { agent: 'helper', workflow: 'single' })).body.id);
    const first = await begin(server);
    await waitsFor(first).toMatchObject({ for: 'event custom' });
    const second = await begin(other);
    await waitsFor(second).toMatchObject({ for: expect.stringContaining('its turn behind run_') });
    const third = await begin(other);
    await waitsFor(third).toMatchObject({ for: expect.stringContaining('its turn behind run_') });
    for (const [run, next] of [
      [first, second],
      [second, third],
    ] as const) {
      expect((await server.post(`/runs/${run}/signal`, { event: 'custom' })).status).toBe(202);
      await waitsFor(next).toMatchObject({ for: 'event custom' });
      expect((await server.get(`/runs/${run}`)).status).toBe('completed');
      await other.kill('SIGKILL');
    }
  });

  it('goes on with a run by the same manifest, wherever that lies on the worker', async () => {
    const [here, there] = [newFleet(), newFleet()];
    const begun = await here.run('workflow', 'run', 'agent.yml', 'sleep');
    expect(begun.told).toMatchObject({ status: 'waiting' });
    await begun.ended;
    rmSync(join(here.folder, 'agent.yml'));
    const server = await started(there.folder, here.store, ['serve', '--port', '0', '--json']);
    expect((await server.post(`/runs/${begun.told.run}/signal`, { event: 'up' })).status).toBe(202);
    await expect.poll(async () => (await server.get(`/runs/${begun.told.run}`)).status).toBe('completed');
  });

  it.each([
    ['a store of one machine', 'sqlite:x.db', /store of a single machine[\s\S]*postgres:\/\//],
    [
      'a database that nobody answers for',
      'postgres://me:secret@127.0.0.1:1/x',
      /127\.0\.0\.1:1\/x[\s\S]*run the command again/,
    ],
    ['an address that is none', 'postgres://me:secret@%zz/x', /two hex digits/],
  ])('says what to do about %s, and shows no password', async (_what, store, said) => {
    const { folder } = newFleet();
    for (const [as, args] of [
      [store, ['worker']],
      ['sqlite:y.db', ['worker', '--store', store]],
    ] as const) {
      const worker = await started(folder, as, args);
      expect(await worker.ended).toBeGreaterThan(0);
      expect(worker.err()).toMatch(said);
      expect(worker.err()).toContain('→');
      expect(worker.err()).not.toContain('secret');
    }
  });
});
