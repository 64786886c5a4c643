import { afterEach, beforeEach, expect, test } from 'vitest';
import { createSystemClock } from '../../src/lib/clock.ts';
import { createGroupedStore } from '../../src/store/grouped/grouped-store.ts';
import type { ToBackend } from '../../src/store/grouped/messages.ts';
import { startStoreThread } from '../../src/store/sqlite/open-sqlite-store.ts';
import { createProcessView } from '../../src/store/sqlite/process-view.ts';
import { outcome } from './appending.ts';
import { PATIENT } from './eventually.ts';
import { type TemporaryFolder, temporaryFolder } from './temporary-folder.ts';

let folder: TemporaryFolder;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(() => folder.remove());

test(
  'when the thread breaks down, everything that waits and all that comes later fails with store_failed',
  PATIENT,
  async () => {
    const view = createProcessView({ pid: process.pid });
    const path = folder.path('store.db');
    const settings = {
      path,
      durability: 'power',
      lockTimeoutMs: 1000,
      maxPages: null,
      mayOnlyRead: false,
      ...view.self,
    } as const;
    const thread = await startStoreThread(settings);
    const openGraphs = () => Promise.reject(new Error('nobody asks for graphs'));
    const clock = createSystemClock();
    const store = createGroupedStore({ location: 'sqlite:x', clock, backend: thread, view, openGraphs });
    const writer = await store.create('s', { kind: 'session', name: 'n', status: 'running', title: 't' });
    thread.post({ kind: 'group', now: 0, writes: [], reads: null } as unknown as ToBackend);
    const waiting = [0, 1, 2].map((n) => outcome(writer, { expectedSeq: n, events: ['{}'] }));
    const reading = store.read('s').catch((error: unknown) => error);
    const failed = { code: 'store_failed', message: expect.stringContaining(path) };
    expect(await Promise.all(waiting)).toMatchObject([failed, failed, failed]);
    expect(await reading).toMatchObject(failed);
    expect(await outcome(writer, { expectedSeq: 3, events: ['{}'] })).toMatchObject(failed);
    await expect(store.list()).rejects.toMatchObject(failed);
    await expect(store.close()).rejects.toMatchObject(failed);
  },
);
