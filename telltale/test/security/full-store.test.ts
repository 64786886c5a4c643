import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { spawned, telltale } from '../cli/spawned.ts';
import { openStage } from '../server/http/stage.ts';
import { openInlineStore } from '../store/open-inline-store.ts';
import { type TemporaryFolder, temporaryFolder } from '../store/temporary-folder.ts';

let folder: TemporaryFolder;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(() => folder.remove());

it('answers 503 at /readyz while the store is full, and 200 once there is room, without a restart', async () => {
  const path = folder.path('a.db');
  openInlineStore({ path }).close();
  // A quarter of a megabyte of it can be used: what is there, and a little more.
  const store = openInlineStore({ path, maxPages: 64 });
  const { ask } = await openStage({ store });
  expect((await ask('/readyz')).status).toBe(200);
  let rows = 0;
  for (let size = 64 * 1024; size >= 16; size /= 2)
    for (;;) {
      const set = store.tables.set('filling', `${rows}`, 'x'.repeat(size));
      const failed = await set.then(() => undefined).catch(({ code }) => code);
      if (failed !== undefined) {
        expect(failed).toBe('store_full');
        break;
      }
      rows++;
    }
  await expect.poll(async () => (await ask('/readyz')).status).toBe(503);
  expect(await (await ask('/readyz')).json()).toEqual({ ready: false, reason: 'store_full' });
  expect((await ask('/healthz')).status).toBe(200);
  for (let row = 0; row < rows; row++) await store.tables.delete('filling', `${row}`);
  await expect.poll(async () => (await ask('/readyz')).status).toBe(200);
  expect(await store.tables.keys('server.ready')).toEqual([]);
  await store.close();
});

it('answers 503 at /readyz of a daemon whose files can grow no more, and 200 when they can again', async () => {
  writeFileSync(folder.path('agent.yml'), 'kind: Agent\nname: idle\nmodel: scripted:turns.yml\n');
  writeFileSync(folder.path('turns.yml'), 'turns: [<response>Done.</response>]\n');
  const token = (
    await telltale(['token', 'create', 't', '--role', 'admin', '--store', 'a.db'], folder.path('.'))
  ).out;
  const daemon = spawned(['serve', '.', '--port', '0', '--json', '--store', 'a.db'], folder.path('.'));
  await daemon.says('}');
  const { url } = JSON.parse(daemon.out());
  const ready = async () =>
    (await fetch(`${url}/readyz`, { headers: { authorization: `Bearer ${token.trim()}` } })).status;
  const mayGrowTo = (bytes: string) =>
    execFileSync('prlimit', ['--pid', String(daemon.child.pid), `--fsize=${bytes}:unlimited`]);
  await expect.poll(ready).toBe(200);
  mayGrowTo('4096');
  await expect.poll(ready).toBe(503);
  mayGrowTo('unlimited');
  await expect.poll(ready).toBe(200);
  daemon.child.kill('SIGTERM');
  expect(await daemon.ended).toMatchObject({ code: 0 });
  const db = new DatabaseSync(folder.path('a.db'));
  expect(db.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
  db.close();
});
