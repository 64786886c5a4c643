import { readFileSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { gunzipSync } from 'node:zlib';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { telltale } from '../cli/spawned.ts';
import { type TestDatabase, testDatabase } from '../servers/shared-postgres.ts';
import { type TemporaryFolder, temporaryFolder } from '../store/temporary-folder.ts';

interface Fault {
  readonly grade: string;
  readonly stream?: string;
  readonly seq?: number;
  readonly found: string;
}
interface Report {
  readonly ok: boolean;
  readonly uncovered?: number;
  readonly events: number;
  readonly faults: readonly Fault[];
}

let folder: TemporaryFolder;
beforeEach(async () => {
  folder = await temporaryFolder();
  writeFileSync(folder.path('agent.yml'), 'kind: Agent\nname: payer\nmodel: scripted:turns.yml\n');
  writeFileSync(
    folder.path('turns.yml'),
    'turns:\n  - "<thought>I pay.</thought><response>Paid 12 euros.</response>"\n',
  );
});
afterEach(() => folder.remove());

const call = async (store: string, code: number, ...argv: string[]) => {
  const ended = await telltale([...argv, '--store', store], folder.path('.'));
  expect(ended, ended.err).toMatchObject({ code });
  return ended.out;
};
const check = async (store: string, code: number): Promise<Report> =>
  JSON.parse(await call(store, code, 'store', 'check', '--json'));

/** A session in this store, and the seq of its event that has this text. */
async function paid(store: string, text = '"text":"Paid 12 euros."') {
  const { session } = JSON.parse(await call(store, 0, 'run', 'agent.yml', 'Pay.', '--json'));
  const log = (await call(store, 0, 'logs', session, '--json')).trim().split('\n');
  return { session: session as string, seq: log.findIndex((line) => line.includes(text)) + 1 };
}

const changedAt = (stream: string, seq: number) =>
  expect.objectContaining({
    grade: 'damage',
    stream,
    seq,
    found: expect.stringContaining('changed after it was written'),
  });

describe('A byte that has changed in an event of a SQLite store', () => {
  const meddle = (path: string, sql: string) => {
    const db = new DatabaseSync(path);
    db.exec(sql);
    db.close();
  };

  it('is found by the check, with the stream and the seq, and by nothing that looks sound', async () => {
    const path = folder.path('a.db');
    const { session, seq } = await paid(path);
    expect(await check(path, 0)).toMatchObject({ ok: true, faults: [] });
    meddle(path, `UPDATE log SET body = replace(body, 'Paid 12 euros.', 'Paid 92 euros.')`);
    const { ok, faults } = await check(path, 1);
    expect(ok).toBe(false);
    expect(faults).toContainEqual(changedAt(session, seq));
    expect(await call(path, 1, 'store', 'check')).toContain(`${session}, event ${seq}: `);
  });

  it('is found where the bytes of the file were changed, and other events are not named', async () => {
    const path = folder.path('a.db');
    const { session, seq } = await paid(path, '"type":"thought"');
    meddle(path, 'PRAGMA wal_checkpoint(TRUNCATE)');
    const bytes = readFileSync(path);
    const at = bytes.indexOf('"text":"I pay."');
    bytes.write('J', at + '"text":"'.length);
    writeFileSync(path, bytes);
    const { faults } = await check(path, 1);
    expect(faults).toEqual([changedAt(session, seq)]);
  });

  it('is told apart from events of an older version, which have no checksum and are no fault', async () => {
    const path = folder.path('a.db');
    await paid(path);
    const { events } = await check(path, 0);
    meddle(path, 'ALTER TABLE log DROP COLUMN sums; PRAGMA user_version = 3');
    expect(await check(path, 0)).toMatchObject({ ok: true, faults: [], uncovered: events });
    const { session, seq } = await paid(path);
    expect(await check(path, 0)).toMatchObject({ events: 2 * events, uncovered: events });
    expect(await call(path, 0, 'store', 'check')).toContain(`${events} events of an older version`);
    meddle(path, `UPDATE log SET body = replace(body, 'Paid 12', 'Paid 92') WHERE sums IS NOT NULL`);
    expect((await check(path, 1)).faults).toContainEqual(changedAt(session, seq));
  });

  it('leaves the fixture of version 0.1.0 sound, with all of its events uncovered', async () => {
    const path = folder.path('old.db');
    const fixture = new URL('../fixtures/stores/0.1.0/sqlite.db.gz', import.meta.url);
    writeFileSync(path, gunzipSync(readFileSync(fixture)));
    const { events, uncovered, ok } = await check(path, 0);
    expect({ ok, uncovered }).toEqual({ ok: true, uncovered: events });
  });
});

describe('A row that has changed in the log of a PostgreSQL store', () => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await testDatabase();
  });
  afterEach(() => database.remove());
  const meddle = async (sql: string) => {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    await client.query(sql);
    await client.end();
  };

  it('is found by the check, with the stream and the seq', async () => {
    const { session, seq } = await paid(database.url);
    expect(await check(database.url, 0)).toMatchObject({ ok: true, faults: [] });
    await meddle(`UPDATE telltale.log SET body = replace(body, 'Paid 12 euros.', 'Paid 92 euros.')`);
    expect((await check(database.url, 1)).faults).toContainEqual(changedAt(session, seq));
  });

  it('is told apart from rows of an older version, which have no checksum and are no fault', async () => {
    await paid(database.url);
    await meddle(`DROP TRIGGER sum_log ON telltale.log; DROP FUNCTION telltale.sum_log_1;
      ALTER TABLE telltale.log DROP COLUMN sums; UPDATE telltale.meta SET version = 3`);
    const { events, uncovered, ok } = await check(database.url, 0);
    expect({ ok, uncovered }).toEqual({ ok: true, uncovered: events });
    const { session, seq } = await paid(database.url);
    expect((await check(database.url, 0)).uncovered).toBe(events);
    await meddle(`UPDATE telltale.log SET body = replace(body, 'Paid 12', 'Paid 92') WHERE sums IS NOT NULL`);
    expect((await check(database.url, 1)).faults).toContainEqual(changedAt(session, seq));
  });
});

describe('An export that was edited by hand', () => {
  it('is refused by the import with the stream, and nothing of that stream is left', async () => {
    const path = folder.path('a.db');
    const { session } = await paid(path);
    const whole = await call(path, 0, 'store', 'export', '-');
    writeFileSync(folder.path('edited.jsonl'), whole.replaceAll('Paid 12 euros.', 'Paid 92 euros.'));
    const refused = await telltale(
      ['store', 'import', folder.path('edited.jsonl'), '--store', folder.path('b.db')],
      folder.path('.'),
    );
    expect(refused.code).not.toBe(0);
    expect(refused.err).toContain(session);
    expect(await call(folder.path('b.db'), 0, 'sessions', '--json')).toBe('[]\n');
  });
});
