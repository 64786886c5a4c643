import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createSystemClock } from '../../src/lib/clock.ts';
import { createTokens } from '../../src/server/auth/tokens.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { spawned, telltale } from '../cli/spawned.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';

const clock = createSystemClock();
const STORE = '.telltale/telltale.db';
const HEADER = { telltale: 'store', format: 1, exported_at: '2026-11-02T10:00:00.000Z' };
/** A token that an attacker has chosen. */
const TOKEN = `tt_${'A'.repeat(43)}`;
const HASH = createHash('sha256').update(TOKEN).digest('hex');
const row = (table: string, key: string, value: unknown) => ({ row: { table, key, value } });

const fileOf = (lines: readonly object[]): string =>
  `${[HEADER, ...lines, { done: {} }].map((line) => JSON.stringify(line)).join('\n')}\n`;

/** A hostile export in a project of its own. */
function hostile(lines: readonly object[]): string {
  const cwd = temporaryProject();
  writeFileSync(join(cwd, 'report.jsonl'), fileOf(lines));
  return cwd;
}

async function withStore<T>(cwd: string, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore(STORE, { cwd, clock, durability: 'process' });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

const AGENT = `kind: Agent
name: worker
model: scripted:./turns.yml
import:
  tools: [./tools.yml]
permissions: { shell: allow, sandbox: "off" }
`;
const TOOLS = `kind: Tool
name: note
implementation: { command: [sh, -c, "echo ran >> notes.txt"] }
`;
const TURNS = `turns:
  - |
    <action id="a1">{"name": "note"}</action>
    <response final="true">Done.</response>
  - |
    <response final="true"/>
`;

/** A project whose session waits on disk, as a crash leaves it, and the export of it. */
async function interrupted(): Promise<{
  readonly cwd: string;
  readonly session: string;
  readonly text: string;
}> {
  const cwd = temporaryProject({ 'agent.yml': AGENT, 'tools.yml': TOOLS, 'turns.yml': TURNS });
  const ran = await telltale(['run', 'agent.yml', 'Go', '--json'], cwd);
  expect(ran.code).toBe(0);
  const whole = (await telltale(['store', 'export'], cwd)).out.trimEnd().split('\n');
  const lines = whole.map((line) => JSON.parse(line) as Record<string, Record<string, unknown>>);
  const session = String(lines[1]?.stream?.id);
  const started = lines.find((line) => line.event?.type === 'session.started');
  expect(started).toBeDefined();
  const front = { ...lines[1]?.stream, status: 'running' };
  return { cwd, session, text: fileOf([{ stream: front }, started ?? {}, { end: { events: 1 } }]) };
}

it.each([
  ['the hash of a token', row('server.token_hashes', HASH, { name: 'ann', role: 'admin' })],
  ['a token by name', row('server.tokens', 'ann', { role: 'admin', hash: HASH, createdAt: 1 })],
  ['an MCP key', row('mcp_keys', 'keys', { current: { id: 'x', secret: 'y' } })],
  ['an artifact', row('artifact.versions', 'f/000001', { source: 'return 1' })],
  ['the newest version of an artifact', row('artifact.heads', 'f', 7)],
  ['a variable', row('variables:agent:worker', 'limit', 1)],
  ['metadata of an agent', row('agent.metadata:worker', 'mood', 'x')],
  ['a schedule', row('schedules', 'worker/nightly', {})],
  ['a webhook', row('hooks', 'deploy', {})],
  ['an open review', row('reviews', 'rev_1', {})],
  ['a closed review', row('reviews.closed', 'rev_1', {})],
  ['an idempotency key', row('server.idempotency', 'k', {})],
  ['a notification', row('notify.waiting', 'k', {})],
  ['a quarantine', row('store.quarantine', 'ses_1', {})],
  ['a table of a later version', row('server.something_new', 'k', 1)],
  ['the audit trail', { entry: { list: 'server.audit', n: 1, at: 1, value: {} } }],
])('an export from someone else that has %s is refused, and leaves nothing behind', async (_what, line) => {
  const cwd = hostile([row('relic:notes', 'k', 1), line]);
  const refused = await telltale(['store', 'import', 'report.jsonl'], cwd);
  expect(refused).toMatchObject({ code: 1, out: '' });
  expect(refused.err).toContain('rights');
  expect(refused.err).toContain('line 3');
  expect(refused.err).toContain('--trusted');
  expect(existsSync(join(cwd, STORE))).toBe(false);
  await withStore(cwd, async (store) => {
    await store.tables.set('relic:mine', 'k', 1);
  });
  expect((await telltale(['store', 'import', 'report.jsonl'], cwd)).code).toBe(1);
  await withStore(cwd, async (store) => {
    expect(await store.tables.get('relic:notes', 'k')).toBeUndefined();
    expect(await store.upkeep.lists({ limit: 10 })).toEqual([]);
  });
  expect(await telltale(['store', 'import', 'report.jsonl', '--trusted'], cwd)).toMatchObject({ code: 0 });
});

it('a refused import names all the rows, with what is unprintable in them escaped', async () => {
  const cwd = hostile([
    row('server.tokens', '\u001b[2Jann', { role: 'admin', hash: HASH, createdAt: 1 }),
    row('server.token_hashes', HASH, { name: 'ann', role: 'admin' }),
  ]);
  const { err } = await telltale(['store', 'import', 'report.jsonl'], cwd);
  expect(err).toContain('line 2: row "\\u001b[2Jann" of the table "server.tokens"');
  expect(err).toContain(`line 3: row "${HASH}`);
  expect(err).not.toContain('\u001b[2J');
});

it('the data of relics is imported without trust, from a pipe too', async () => {
  const lines = [row('relic:notes', 'k', 1), { entry: { list: 'relic:log', n: 1, at: 1, value: 'x' } }];
  const cwd = temporaryProject();
  const piped = spawned(['store', 'import', '-'], cwd, { stdin: 'pipe' });
  piped.child.stdin?.end(fileOf(lines));
  expect(await piped.ended).toMatchObject({
    code: 0,
    out: expect.stringContaining('1 table row, 1 list entry'),
  });
  await withStore(cwd, async (store) => {
    expect(await store.tables.get('relic:notes', 'k')).toBe(1);
  });
});

it('a token that authenticates is listed and revoked by what the list shows, whatever its row says', async () => {
  const cwd = hostile([
    row('server.token_hashes', HASH, { name: '\u202eann\n', role: 'admin' }),
    row('server.token_hashes', 'b'.repeat(64), { role: 'admin' }),
    row('server.tokens', 'odd\u0007name', { role: 'admin', hash: 'c'.repeat(64), createdAt: 1 }),
    row('server.token_hashes', 'c'.repeat(64), { name: 'odd\u0007name', role: 'admin' }),
  ]);
  expect(await telltale(['store', 'import', 'report.jsonl', '--trusted'], cwd)).toMatchObject({ code: 0 });
  expect((await telltale(['token', 'create', 'ci', '--role', 'run'], cwd)).code).toBe(0);
  await withStore(cwd, async (store) => {
    expect(await createTokens(store, clock).check(TOKEN)).toMatchObject({ role: 'admin' });
  });
  const { out } = await telltale(['token', 'list'], cwd);
  const stray = `sha256:${HASH.slice(0, 16)}`;
  for (const name of ['ci', stray, `sha256:${'b'.repeat(16)}`, `sha256:${'c'.repeat(16)}`])
    expect(out).toContain(name);
  expect(out).toContain('\\u{202E}ann');
  for (const raw of ['\u202e', '\u0007']) expect(out).not.toContain(raw);
  const listed = JSON.parse((await telltale(['token', 'list', '--json'], cwd)).out) as { name: string }[];
  expect(listed).toHaveLength(4);
  for (const { name } of listed) expect((await telltale(['token', 'revoke', name], cwd)).code).toBe(0);
  expect(JSON.parse((await telltale(['token', 'list', '--json'], cwd)).out)).toEqual([]);
  await withStore(cwd, async (store) => {
    expect(await createTokens(store, clock).check(TOKEN)).toBeUndefined();
    expect(await store.tables.keys('server.token_hashes')).toEqual([]);
  });
});

it('two hashes of one name are two tokens in the list', async () => {
  const cwd = hostile([row('server.token_hashes', HASH, { name: 'ci', role: 'admin' })]);
  expect((await telltale(['token', 'create', 'ci', '--role', 'read'], cwd)).code).toBe(0);
  expect((await telltale(['store', 'import', 'report.jsonl', '--trusted'], cwd)).code).toBe(0);
  expect((await telltale(['token', 'revoke', 'ci'], cwd)).code).toBe(0);
  expect(JSON.parse((await telltale(['token', 'list', '--json'], cwd)).out)).toMatchObject([
    { name: `sha256:${HASH.slice(0, 16)}`, claims: 'ci', role: 'admin', created: null },
  ]);
});

it('an imported session that has not ended starts only when a person resumes it', async () => {
  const { cwd, session, text } = await interrupted();
  const other = temporaryProject({ 'agent.yml': AGENT, 'tools.yml': TOOLS, 'turns.yml': TURNS });
  writeFileSync(join(other, 'theirs.jsonl'), text.replaceAll(cwd, other));
  const imported = await telltale(['store', 'import', 'theirs.jsonl'], other);
  expect(imported).toMatchObject({ code: 0, out: expect.stringContaining('quarantined') });
  expect((await telltale(['sessions'], other)).out).toContain('quarantined');

  const daemon = spawned(['serve', 'agent.yml', '--port', '0'], other);
  await expect.poll(daemon.err, { timeout: 30_000 }).toContain('http://');
  daemon.child.kill('SIGTERM');
  expect((await daemon.ended).code).toBe(0);
  expect(existsSync(join(other, 'notes.txt'))).toBe(false);
  expect((await telltale(['store', 'check'], other)).code).toBe(0);
  // The same file is there already, and an export carries the session as it was.
  expect((await telltale(['store', 'import', 'theirs.jsonl'], other)).out).toContain('already there');
  expect((await telltale(['store', 'export'], other)).out).toContain('"status":"running"');

  const resumed = await telltale(['resume', session], other);
  expect(resumed).toMatchObject({ code: 0 });
  expect(readFileSync(join(other, 'notes.txt'), 'utf8')).toBe('ran\n');
  await withStore(other, async (store) => {
    expect((await store.info(session))?.status).toBe('completed');
    expect(await store.tables.keys('store.quarantine')).toEqual([]);
  });
});

it('a trusted backup goes on where it was', async () => {
  const { cwd, session, text } = await interrupted();
  const other = temporaryProject({ 'agent.yml': AGENT, 'tools.yml': TOOLS, 'turns.yml': TURNS });
  writeFileSync(join(other, 'mine.jsonl'), text.replaceAll(cwd, other));
  expect((await telltale(['store', 'import', 'mine.jsonl', '--trusted'], other)).out).not.toContain(
    'quarantined',
  );
  await withStore(other, async (store) => {
    expect((await store.info(session))?.status).toBe('running');
  });
});

it('an export from someone else puts no session below one of this store', async () => {
  const { cwd, session, text } = await interrupted();
  const child = text
    .replaceAll(session, 'ses_child')
    .replace('"status":"running"', `"status":"running","parent":"${session}"`);
  writeFileSync(join(cwd, 'child.jsonl'), child);
  const refused = await telltale(['store', 'import', 'child.jsonl'], cwd);
  expect(refused.code).toBe(1);
  expect(refused.err).toContain('rights');
});
