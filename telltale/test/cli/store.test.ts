import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSystemClock } from '../../src/lib/clock.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { type TestDatabase, testDatabase } from '../servers/shared-postgres.ts';
import { COMPLETED, keepSession, putSession, thought } from '../store/stored-logs.ts';
import { spawned, telltale } from './spawned.ts';

const clock = createSystemClock();
const STORE = '.telltale/telltale.db';

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
---
kind: Tool
name: gate
implementation: { command: [sh, -c, "n=0; while [ ! -e open ] && [ $n -lt 1200 ]; do n=$((n+1)); sleep 0.05; done"] }
`;
const TURNS = `turns:
  - |
    <action id="a1">{"name": "note"}</action>
    <action id="g1">{"name": "gate", "depends_on": ["a1"]}</action>
    <response final="true">First answer.</response>
  - |
    <response final="true">Second answer.</response>
`;

/** Works on a project's own store. */
async function withStore<T>(cwd: string, work: (store: Store) => Promise<T>, at = STORE): Promise<T> {
  const store = await openStore(at, { cwd, clock, durability: 'process' });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
const filled = async (): Promise<string> => {
  const cwd = temporaryProject();
  await withStore(cwd, async (store) => {
    await keepSession(store, 'ses_one', { bodies: [thought('a'), COMPLETED] });
    await keepSession(store, 'ses_two', { bodies: [thought('a')], head: { title: '\u001b[31mred' } });
    await store.tables.set('t', 'k', 1);
    await store.tables.push('l', 1);
  });
  return cwd;
};
const json = async (argv: readonly string[], cwd: string) => {
  const { out, err, code } = await telltale([...argv, '--json'], cwd);
  expect(err).toBe('');
  return { code, ...JSON.parse(out) };
};

describe('moving a session to a database', { timeout: 60_000 }, () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await testDatabase();
  }, 60_000);
  afterAll(() => database.remove());

  it('one that was stopped with Ctrl-C goes on there without doing anything twice, and the copy can come back', async () => {
    const cwd = temporaryProject({ 'agent.yml': AGENT, 'tools.yml': TOOLS, 'turns.yml': TURNS });
    const run = spawned(['run', 'agent.yml', 'Go'], cwd);
    await run.says('action.completed');
    const busy = await telltale(['store', 'copy', STORE, database.url], cwd);
    expect(busy.code).toBe(1);
    expect(busy.err).toContain(`(process ${run.child.pid})`);
    run.child.kill('SIGINT');
    expect((await run.ended).code).toBe(130);

    const { code, ...copied } = await json(['store', 'copy', STORE, database.url], cwd);
    expect(code).toBe(0);
    expect(copied).toMatchObject({ copied: 1, same: 0, running: [], checked: { unlike: [] } });
    expect(copied.checked.streams).toEqual([
      {
        stream: expect.stringMatching(/^ses_/),
        events: copied.events,
        sha256: expect.stringMatching(/^\w{64}$/),
      },
    ]);
    expect(copied.to).not.toContain(':postgres@');

    const resumed = await telltale(['resume', 'last', '--store', database.url], cwd);
    expect(resumed).toMatchObject({ code: 0, err: '' });
    expect(resumed.out).toContain('Second answer.');
    expect(readFileSync(join(cwd, 'notes.txt'), 'utf8')).toBe('ran\n');
    expect((await telltale(['store', 'check', '--store', database.url], cwd)).out).toContain('is in order');
    expect((await telltale(['store', 'info', '--store', database.url], cwd)).out).toMatch(
      /kind +PostgreSQL, version/,
    );

    const back = await telltale(['store', 'copy', database.url, 'back.db'], cwd);
    expect(back).toMatchObject({ code: 0, err: expect.not.stringContaining('error') });
    expect((await telltale(['show', 'last', '--store', 'back.db'], cwd)).out).toContain('completed');
    // The first one has not gone on: it is another by now.
    const again = await telltale(['store', 'copy', STORE, 'back.db', '--merge'], cwd);
    expect(again).toMatchObject({
      code: 1,
      err: expect.stringContaining('back.db has its own of these: ses_'),
    });

    const exported = await telltale(['store', 'export', 'all.jsonl', '--store', database.url], cwd);
    expect(exported).toMatchObject({
      code: 0,
      out: '',
      err: expect.stringContaining('Exported 1 session or run'),
    });
    expect(statSync(join(cwd, 'all.jsonl')).mode & 0o777).toBe(0o600);
    const pruned = await telltale(['store', 'prune', '--older-than', '0s', '--store', database.url], cwd);
    expect(pruned.out).toMatch(/^Deleted 1 session or run, \d+ events, /);
    expect((await telltale(['store', 'import', 'all.jsonl', '--store', database.url], cwd)).code).toBe(0);
    expect((await telltale(['show', 'last', '--store', database.url], cwd)).out).toContain('completed');

    await withStore(
      cwd,
      (store) =>
        store.shared!.database.execute('UPDATE telltale.log SET first = first + 1').then(() => undefined),
      database.url,
    );
    const check = await telltale(['store', 'check', '--store', database.url], cwd);
    expect(check).toMatchObject({
      code: 1,
      out: expect.stringMatching(/✗ ses_\w+, event 1: Event 1 is missing/),
    });
  });
});

it('info says what there is, and makes nothing where there is nothing', async () => {
  const empty = temporaryProject();
  const none = await telltale(['store'], empty);
  expect(none).toMatchObject({ code: 1, err: expect.stringContaining('There is no store at') });
  expect(existsSync(join(empty, '.telltale'))).toBe(false);
  const cwd = await filled();
  const { out } = await telltale(['store', 'info'], cwd);
  expect(out).toMatch(/kind +SQLite, version \d+\n +size +\d+ KB/);
  expect(out).toMatch(
    /sessions +2\n +runs +0\n +events +5\n +tables +1 table with 1 row\n +lists +1 list with 1 entry\n/,
  );
  expect(out).toContain('no process that runs a session');
  const writer = await openStore(STORE, { cwd, clock, durability: 'process', pid: process.pid });
  await putSession(writer, 'ses_live');
  expect((await telltale(['store'], cwd)).out).toContain(`process ${process.pid} (runs 1)`);
  await writer.close();
  expect(await json(['store', 'info'], cwd)).toMatchObject({ kind: 'sqlite', sessions: 3, owners: [] });
  expect((await telltale(['store', 'inof'], cwd)).err).toContain('Did you mean "info"?');
});

it('check ends with 0 where all is well, and with 1 and the place where it is not', async () => {
  const cwd = await filled();
  expect(await telltale(['store', 'check'], cwd)).toMatchObject({
    code: 0,
    out: expect.stringContaining('is in order: 2 sessions and runs, 5 events, 0 snapshots'),
  });
  const db = new DatabaseSync(join(cwd, STORE));
  db.exec(`UPDATE log SET body = replace(body, '"seq":2', '"seq":7') WHERE id = 1`);
  db.close();
  const { code, out } = await telltale(['store', 'check'], cwd);
  expect(code).toBe(1);
  expect(out).toContain(
    '✗ ses_one, event 2: In its place stands the event 7.\n  → Restore it from a backup.',
  );
  expect(out).toContain('1 problem in 2 sessions and runs');
  expect(await json(['store', 'check'], cwd)).toMatchObject({
    code: 1,
    ok: false,
    faults: [{ stream: 'ses_one', seq: 2 }],
  });
  writeFileSync(join(cwd, 'broken.db'), 'SQLite format 3\0 but no more of it than that');
  expect(await telltale(['store', 'check', '--store', 'broken.db'], cwd)).toMatchObject({
    code: 1,
    err: expect.stringContaining('cannot be read as a store'),
  });
});

it('the command that check names for a damaged session saves what can be read of it', async () => {
  const cwd = await filled();
  const db = new DatabaseSync(join(cwd, STORE));
  db.exec(`UPDATE log SET body = replace(body, '"seq":2', '"seq":7') WHERE id = 1`);
  db.close();
  for (const options of [[], ['--store', STORE]]) {
    const { out } = await telltale(['store', 'check', ...options], cwd);
    const command = /saved by: telltale (.*)\n/.exec(out)?.[1] ?? '';
    const saved = await telltale(command.split(' '), cwd);
    expect(saved).toMatchObject({
      code: 0,
      err: expect.stringContaining('Exported 1 session or run, 3 events'),
    });
    expect(command).toContain(options.join(' '));
  }
});

it('prune shows what would go, takes only that, and asks for a rule', async () => {
  const cwd = await filled();
  const shown = await telltale(['store', 'prune', '--older-than', '0s', '--dry-run'], cwd);
  expect(shown.out).toMatch(
    /^SESSION +AGENT +STATUS +LAST WRITTEN +WITH +EVENTS +SIZE +INPUT\nses_one +coder +completed +just now +0 +3 +\d+ bytes +Do it\n/,
  );
  expect(shown.out).toContain('Would delete 1 session or run, 3 events');
  expect(shown.out).toContain('Kept: 1 that are unfinished');
  expect(await json(['store', 'prune', '--keep', '0'], cwd)).toMatchObject({
    code: 0,
    dry_run: false,
    trees: 1,
    events: 3,
    pruned: [{ stream: 'ses_one' }],
  });
  expect(await json(['store', 'info'], cwd)).toMatchObject({ sessions: 1 });
  expect((await telltale(['store', 'prune', '--keep', '0'], cwd)).out).toMatch(
    /^There is nothing to delete\.\n/,
  );
  for (const [argv, found] of [
    [[], 'Say which sessions to delete'],
    [['--agent', 'coder'], 'Say which sessions to delete'],
    [['--older-than', 'long'], "--older-than 'long' is not a duration"],
    [['--keep', '-1'], "--keep '-1' is not a whole number"],
    [['--keep', '1', '--status', 'running'], "'running' is not a status that a session can end with"],
  ] as const)
    expect(await telltale(['store', 'prune', ...argv], cwd)).toMatchObject({
      code: 2,
      err: expect.stringContaining(found),
    });
});

it('export and import are each other’s inverse, over files and pipes', async () => {
  const cwd = await filled();
  const piped = await telltale(['store', 'export'], cwd);
  expect(piped.err).toBe('Exported 2 sessions and runs, 5 events, 1 table row, 1 list entry.\n');
  await telltale(['store', 'export', 'a.jsonl'], cwd);
  expect(readFileSync(join(cwd, 'a.jsonl'), 'utf8').split('\n').slice(1)).toEqual(
    piped.out.split('\n').slice(1),
  );
  expect(existsSync(join(cwd, 'a.jsonl.part'))).toBe(false);
  expect(await telltale(['store', 'export', 'a.jsonl'], cwd)).toMatchObject({
    code: 2,
    err: expect.stringContaining('--force'),
  });
  execFileSync('mkfifo', [join(cwd, 'pipe')]);
  expect(await telltale(['store', 'export', 'pipe', '--force'], cwd)).toMatchObject({
    code: 2,
    err: expect.stringContaining('telltale store export > pipe'),
  });
  expect(statSync(join(cwd, 'pipe')).isFIFO()).toBe(true);
  expect(await telltale(['store', 'export', 'no/such/a.jsonl'], cwd)).toMatchObject({
    code: 1,
    err: expect.stringContaining('ENOENT'),
  });

  const dry = await telltale(['store', 'import', 'a.jsonl', '--dry-run', '--store', 'new.db'], cwd);
  expect(dry).toMatchObject({
    code: 0,
    out: expect.stringContaining('Would import 2 sessions and runs, 1 table row, 1 list entry'),
  });
  expect(existsSync(join(cwd, 'new.db'))).toBe(false);
  const read = spawned(['store', 'import', '-', '--store', 'new.db'], cwd, { stdin: 'pipe' });
  read.child.stdin?.end(piped.out);
  expect(await read.ended).toMatchObject({
    code: 0,
    out: expect.stringContaining('Imported 2 sessions and runs'),
  });
  expect((await telltale(['store', 'export', '--store', 'new.db'], cwd)).out.split('\n').slice(1)).toEqual(
    piped.out.split('\n').slice(1),
  );
  expect((await telltale(['store', 'import', 'a.jsonl', '--store', 'new.db'], cwd)).out).toContain(
    '2 sessions and runs are already there',
  );

  const one = await telltale(['store', 'export', '-', '--session', 'ses_one', '--no-snapshots'], cwd);
  expect(one.err).toContain('Exported 1 session or run, 3 events, 0 table rows');
  expect(await telltale(['store', 'export', '--session', 'ses_x'], cwd)).toMatchObject({ code: 1, out: '' });
  expect(await telltale(['store', 'import', 'nosuch.jsonl', '--store', 'never.db'], cwd)).toMatchObject({
    code: 2,
  });
  expect(existsSync(join(cwd, 'never.db'))).toBe(false);
  writeFileSync(join(cwd, 'b.jsonl'), `${piped.out.split('\n').slice(0, 3).join('\n')}\nnonsense\n`);
  expect(await telltale(['store', 'import', 'b.jsonl', '--store', 'c.db'], cwd)).toMatchObject({
    code: 1,
    err: expect.stringContaining('Line 4: It is not JSON'),
  });
});

it('copy takes what names two stores, and says so where it does not', async () => {
  const cwd = await filled();
  symlinkSync(join(cwd, STORE), join(cwd, 'link.db'));
  for (const [argv, found] of [
    [[STORE, 'link.db'], "'link.db' is the store to copy"],
    [['nosuch.db', 'b.db'], "There is no store at 'nosuch.db'"],
    [[STORE, 'memory'], 'ends with its process'],
    [[STORE, 'mysql://x/y'], 'There is no kind of store'],
    [[STORE], "Missing required argument 'to'"],
  ] as const)
    expect(await telltale(['store', 'copy', ...argv], cwd)).toMatchObject({
      code: 2,
      err: expect.stringContaining(found),
    });
  const { code, out } = await telltale(['store', 'copy', `sqlite:${STORE}`, 'b.db', '--verbose'], cwd);
  expect(code).toBe(0);
  expect(out).toMatch(
    /^Copied from sqlite:.* in .*: 2 sessions and runs, 5 events, 1 table row, 1 list entry\.\n/,
  );
  expect(out).toMatch(
    /\n[0-9a-f]{64} {2}ses_one {2}3\n[0-9a-f]{64} {2}ses_two {2}2\n[0-9a-f]{64} {2}tables and lists\nsha256 [0-9a-f]{64}\n/,
  );
  expect(await telltale(['store', 'copy', STORE, 'b.db'], cwd)).toMatchObject({
    code: 1,
    err: expect.stringContaining('--merge'),
  });
});

it('copy says where both could go on with the same, and what to do about it', async () => {
  const cwd = await filled();
  const { out } = await telltale(['store', 'copy', STORE, 'b.db'], cwd);
  expect(out).toMatch(
    /would then run twice\. Before anything uses the copy, make sure that nothing uses sqlite:\S+ any more/,
  );
  expect(await json(['store', 'copy', STORE, 'b.db', '--merge'], cwd)).toMatchObject({ alive: true });
  await withStore(cwd, (store) => keepSession(store, 'ses_one', { bodies: [COMPLETED] }), 'done.db');
  const over = await telltale(['store', 'copy', 'done.db', 'c.db'], cwd);
  expect(over.out).not.toContain('twice');
});

it('a copy that was killed goes on with the same command', { timeout: 60_000 }, async () => {
  const cwd = temporaryProject();
  await withStore(cwd, async (store) => {
    for (let n = 0; n < 400; n++)
      await keepSession(store, `ses_${n}`, { bodies: [thought('x'.repeat(20_000)), COMPLETED] });
  });
  const copy = spawned(['store', 'copy', STORE, 'b.db'], cwd);
  const begun = async () => {
    for (;;) {
      const found =
        existsSync(join(cwd, 'b.db')) && statSync(join(cwd, 'b.db-wal'), { throwIfNoEntry: false });
      if (found && found.size > 1_000_000) return;
      if (copy.child.exitCode !== null) throw new Error(`It was quicker than the test: ${copy.out()}`);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  };
  await begun();
  copy.child.kill('SIGKILL');
  await copy.ended;
  const again = await json(['store', 'copy', STORE, 'b.db'], cwd);
  expect(again).toMatchObject({ code: 0, checked: { events: 1200, unlike: [] } });
  expect(again.copied + again.same).toBe(400);
  expect((await telltale(['store', 'check', '--store', 'b.db'], cwd)).code).toBe(0);
});
