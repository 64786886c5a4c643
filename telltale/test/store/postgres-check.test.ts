import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createSystemClock } from '../../src/lib/clock.ts';
import { openPostgresStore } from '../../src/store/postgres/open-postgres-store.ts';
import { checkStore } from '../../src/store/upkeep/check-store.ts';
import { type TestDatabase, testDatabase } from '../servers/shared-postgres.ts';
import { keepRun, keepSession } from './stored-logs.ts';
import { type TemporaryFolder, temporaryFolder } from './temporary-folder.ts';

let database: TestDatabase;
let folder: TemporaryFolder;
beforeAll(async () => {
  database = await testDatabase();
  folder = await temporaryFolder();
}, 60_000);
afterAll(async () => {
  await folder.remove();
  await database.remove();
});

it('a check of a database names a lost time, an unknown kind, and snapshots and messages of no stream', async () => {
  const clock = createSystemClock();
  const store = await openPostgresStore({ url: database.url, clock, graphs: folder.path('graphs.db') });
  await keepSession(store, 'ses_a');
  await keepRun(store, 'run_w', {}, { type: 'workflow.waiting', for: 'a time', due: 9_999_999 });
  expect((await checkStore(store)).faults).toEqual([]);
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query(`UPDATE telltale.heads SET due_at = NULL;
    UPDATE telltale.streams SET kind = 'thing' WHERE stream = 'ses_a';
    INSERT INTO telltale.snapshots VALUES (99999, 1, '{}');
    INSERT INTO telltale.inbox (stream, at, message) VALUES (99999, 1, '{}')`);
  await client.end();
  const { faults } = await checkStore(store);
  expect(faults).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        grade: 'damage',
        stream: 'run_w',
        found: expect.stringContaining('no time'),
      }),
      expect.objectContaining({ grade: 'damage', stream: 'ses_a', found: expect.stringContaining('thing') }),
      expect.objectContaining({ grade: 'damage', found: expect.stringContaining('(99999)') }),
      expect.objectContaining({
        grade: 'note',
        found: expect.stringMatching(/Message \d+ is for no stream/),
      }),
    ]),
  );
  await store.close();
});
