import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createSystemClock } from '../../src/lib/clock.ts';
import { openStore } from '../../src/store/open-store.ts';
import { quarantine } from '../../src/store/quarantine.ts';
import { telltale } from '../cli/spawned.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { type ServedDaemon, served } from './served.ts';

const FILES = {
  'agent.yml': `kind: Agent
name: worker
model: scripted:./turns.yml
import:
  tools: [./tools.yml]
  workflows: [./held.yml, ./asked.yml]
permissions: { shell: allow, sandbox: "off" }
`,
  'held.yml': `kind: Workflow
name: held
steps:
  - { name: pause, type: wait, event: custom, match: { name: go } }
  - { name: note, type: tool, target: jot }
`,
  'asked.yml': `kind: Workflow
name: asked
steps:
  - { name: consent, type: approval, prompt: "Go on?" }
  - { name: note, type: tool, target: jot }
`,
  'tools.yml': `kind: Tool
name: note
approval: always
implementation: { command: [sh, -c, "echo ran >> notes.txt"] }
---
kind: Tool
name: jot
implementation: { command: [sh, -c, "echo ran >> notes.txt"] }
`,
  'turns.yml': `turns:
  - |
    <action id="a1">{"name": "note"}</action>
    <response final="true">Done.</response>
  - |
    <response final="true">Awake.</response>
`,
};
const WHY = 'The process hung 2 times while it recovered this.';

interface Shown {
  readonly id: string;
  readonly status: string;
  readonly quarantine?: { readonly why: string; readonly at: number; readonly release: string };
}

const json = async <Answer>(server: ServedDaemon, path: string, body?: object): Promise<Answer> => {
  const answer = await server.ask(
    path,
    body === undefined
      ? {}
      : { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } },
  );
  const text = await answer.text();
  expect([path, answer.status < 300, text]).toEqual([path, true, text]);
  return (text === '' ? {} : JSON.parse(text)) as Answer;
};

/** A server on a store whose session and two runs wait for somebody, and are quarantined. */
async function quarantined() {
  const cwd = temporaryProject(FILES);
  const before = await served(['agent.yml'], cwd);
  const session = (await json<Shown>(before, '/sessions', { agent: 'worker', input: 'Go' })).id;
  const begin = async (workflow: string) =>
    (await json<Shown>(before, '/runs', { agent: 'worker', workflow })).id;
  const held = await begin('held');
  const asked = await begin('asked');
  for (const path of [`/sessions/${session}`, `/runs/${held}`, `/runs/${asked}`])
    await expect
      .poll(async () => (await json<Shown>(before, path)).status, { timeout: 30_000 })
      .toBe('waiting');
  await before.stop('SIGTERM');
  // As the daemon leaves them after two hangs: intake-quarantine.test.ts.
  const clock = createSystemClock();
  const store = await openStore('.telltale/telltale.db', { cwd, clock, durability: 'process' });
  for (const stream of [session, held, asked]) await quarantine(store, stream, WHY, clock.now());
  await store.close();
  const server = await served(['agent.yml'], cwd);
  return { cwd, server, session, held, asked, hasRun: () => existsSync(join(cwd, 'notes.txt')) };
}

it('lists, summaries and `show` say that a session or run is quarantined, why, and how to release it', {
  timeout: 120_000,
}, async () => {
  const { cwd, server, session, held, asked } = await quarantined();
  const note = { why: WHY, at: expect.any(Number), release: 'resume' };
  const shown = (id: string) => expect.objectContaining({ id, status: 'quarantined', quarantine: note });
  expect(await json(server, `/sessions/${session}`)).toEqual(shown(session));
  expect(await json(server, `/runs/${held}`)).toEqual(shown(held));
  const ids = async (path: string) =>
    (await json<{ readonly items: readonly Shown[] }>(server, path)).items.map(({ id }) => id).sort();
  expect(await json(server, '/sessions')).toEqual({ items: [shown(session)] });
  expect(await ids('/sessions?status=quarantined')).toEqual([session]);
  expect(await ids('/sessions?status=running,waiting')).toEqual([]);
  expect(await ids('/runs?status=quarantined')).toEqual([held, asked].sort());
  expect(await ids('/runs?status=quarantined&workflow=held')).toEqual([held]);
  expect(await ids('/runs?status=waiting')).toEqual([]);

  const show = async (id: string) => (await telltale(['show', id], cwd)).out;
  expect(await show(session)).toMatch(new RegExp(`quarantined: .*${WHY}[^]*telltale resume ${session}`));
  expect(await show(held)).toMatch(new RegExp(`quarantined: .*${WHY}[^]*telltale workflow resume ${held}`));
  const told = JSON.parse((await telltale(['show', session, '--json'], cwd)).out) as Shown;
  expect(told).toMatchObject({
    status: 'quarantined',
    quarantine: { why: WHY, release: `telltale resume ${session}` },
  });
});

it('a signal does not wake a quarantined run, and counts once somebody resumes it', {
  timeout: 120_000,
}, async () => {
  const { cwd, server, held, hasRun } = await quarantined();
  const status = async () => (await json<Shown>(server, `/runs/${held}`)).status;
  await json(server, `/runs/${held}/signal`, { event: 'go' });
  await json(server, `/runs/${held}/signal`, { event: 'go' });
  expect(await status()).toBe('quarantined');
  await server.stop('SIGTERM'); // what it had begun has come to its end
  expect(hasRun()).toBe(false);

  // On a store that nobody serves the command line writes onto the log itself.
  expect((await telltale(['workflow', 'signal', held, 'go'], cwd)).code).toBe(0);
  const again = await served(['agent.yml'], cwd);
  expect((await json<Shown>(again, `/runs/${held}`)).status).toBe('quarantined');
  expect(hasRun()).toBe(false);

  await json(again, `/runs/${held}/resume`, {});
  await expect
    .poll(async () => json(again, `/runs/${held}`), { timeout: 30_000 })
    .toMatchObject({ status: 'completed' });
  expect(readFileSync(join(cwd, 'notes.txt'), 'utf8')).toBe('ran\n');
  expect(await json(again, `/runs/${held}`)).not.toHaveProperty('quarantine');
  expect((await telltale(['store', 'check'], cwd)).code).toBe(0);
});

it('an answer to a review does not wake what is quarantined, and counts once somebody resumes it', {
  timeout: 120_000,
}, async () => {
  const { cwd, server, session, asked, hasRun } = await quarantined();
  const { items } = await json<{ readonly items: readonly { review: string; session: string }[] }>(
    server,
    '/reviews',
  );
  expect(items.map((each) => each.session).sort()).toEqual([session, asked].sort());
  const [first, second] = items.map(({ review }) => review);
  await json(server, `/reviews/${first}`, { answer: 'approved' });
  await server.stop('SIGTERM'); // what it had begun has come to its end
  expect((await telltale(['reviews', 'approve', String(second)], cwd)).code).toBe(0);

  const again = await served(['agent.yml'], cwd);
  for (const path of [`/sessions/${session}`, `/runs/${asked}`])
    expect(await json(again, path)).toMatchObject({ status: 'quarantined', quarantine: { why: WHY } });
  await json(again, `/sessions/${session}/steer`, { text: 'Wake up.' });
  await again.stop('SIGTERM');
  expect(hasRun()).toBe(false);

  const last = await served(['agent.yml'], cwd);
  for (const path of [`/sessions/${session}`, `/runs/${asked}`]) {
    await json(last, `${path}/resume`, {});
    await expect
      .poll(async () => json(last, path), { timeout: 30_000 })
      .toMatchObject({ status: 'completed' });
  }
  expect(readFileSync(join(cwd, 'notes.txt'), 'utf8')).toBe('ran\nran\n');
  await last.stop('SIGTERM');
  expect((await telltale(['store', 'check'], cwd)).code).toBe(0);
});

it('a quarantined run that is cancelled comes to its end', { timeout: 120_000 }, async () => {
  const { server, held, hasRun } = await quarantined();
  await json(server, `/runs/${held}/cancel`, {});
  await expect
    .poll(async () => json(server, `/runs/${held}`), { timeout: 30_000 })
    .toMatchObject({ status: 'cancelled' });
  expect(hasRun()).toBe(false);
});

it('a message of a conversation does not wake its quarantined session', { timeout: 120_000 }, async () => {
  const cwd = temporaryProject(FILES);
  const before = await served(['agent.yml'], cwd);
  const chat = (server: ServedDaemon, text: string) =>
    server.ask('/ag-ui/worker', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        threadId: 't',
        runId: text,
        state: {},
        tools: [],
        context: [],
        forwardedProps: {},
        messages: [{ id: text, role: 'user', content: text }],
      }),
    });
  expect(await (await chat(before, 'one')).text()).toContain('interrupt');
  await before.stop('SIGTERM');
  const clock = createSystemClock();
  const store = await openStore('.telltale/telltale.db', { cwd, clock, durability: 'process' });
  const [info] = await store.list({ kind: 'session' });
  await quarantine(store, String(info?.stream), WHY, clock.now());
  await store.close();
  const server = await served(['agent.yml'], cwd);
  const answer = await chat(server, 'two');
  expect([answer.status, await answer.text()]).toEqual([409, expect.stringContaining('is quarantined')]);
  expect(await json(server, `/sessions/${info?.stream}`)).toMatchObject({ status: 'quarantined' });
});
