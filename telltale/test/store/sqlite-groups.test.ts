import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { PAGE_BYTES } from '../../src/store/sqlite/thread/checkpoints.ts';
import type { Store, StreamWriter } from '../../src/store/store.ts';
import { append, outcome } from './appending.ts';
import { openInlineStore } from './open-inline-store.ts';
import { type TemporaryFolder, temporaryFolder } from './temporary-folder.ts';

const HEAD = { kind: 'session', name: 'here', status: 'running', title: 'here' } as const;
const PAGES = 60;
const TOO_BIG = `{"x":"${'x'.repeat(PAGES * PAGE_BYTES)}"}`;

let folder: TemporaryFolder;
let path: string;
let store: Store;
let a: StreamWriter;
let b: StreamWriter;

beforeEach(async () => {
  folder = await temporaryFolder();
  path = folder.path('store.db');
  store = openInlineStore({ path, maxPages: PAGES });
  a = await store.create('a', HEAD);
  b = await store.create('b', HEAD);
});
afterEach(async () => {
  await store.close();
  await folder.remove();
});

test('an append that cannot be written fails alone: its neighbors in the group go through', async () => {
  const impossible = { odd: true } as unknown as string;
  const results = await Promise.all([
    outcome(a, { expectedSeq: 0, events: ['{"n":1}'] }),
    outcome(b, { expectedSeq: 0, events: ['{"n":2}'], status: impossible }),
    store.tables.increment('t', 'n', 1),
  ]);
  expect(results).toMatchObject([undefined, { code: 'store_failed' }, 1]);
  expect(await store.read('a')).toEqual(['{"n":1}']);
  expect(await store.read('b')).toEqual([]);
  expect(await store.tables.get('t', 'n')).toBe(1);
  await append(b, { expectedSeq: 0, events: ['{"n":3}'] });
  expect(await store.read('b')).toEqual(['{"n":3}']);
});

test('after a group that found no space, each of its writers goes on where it was', async () => {
  await append(a, { expectedSeq: 0, events: ['{"n":1}'] });
  const results = await Promise.all([
    outcome(a, { expectedSeq: 1, events: ['{"n":"lost"}'] }),
    outcome(b, { expectedSeq: 0, events: [TOO_BIG] }),
  ]);
  expect(results).toMatchObject([{ code: 'store_full' }, { code: 'store_full' }]);
  await append(a, { expectedSeq: 1, events: ['{"n":2}'] });
  await append(b, { expectedSeq: 0, events: ['{"n":3}'] });
  expect(await store.read('a')).toEqual(['{"n":1}', '{"n":2}']);
  expect(await store.read('b')).toEqual(['{"n":3}']);
});

test('a stream that could not be let go of with its last events, which found no space, can be let go of', async () => {
  const full = { code: 'store_full' };
  const last = outcome(a, { expectedSeq: 0, events: [TOO_BIG] });
  await expect(a.release()).rejects.toMatchObject(full);
  expect(await last).toMatchObject(full);
  expect(await outcome(a, { expectedSeq: 0, events: ['{}'] })).toMatchObject({ code: 'stream_lost' });
  await a.release();
  expect(await store.acquire('a')).toMatchObject({ head: 0, epoch: 2 });
});

test('a stream whose first events find no space is not there, and its writer is refused for good', async () => {
  const { writer, made } = store.begin('c', HEAD);
  const refused = { code: 'store_full' };
  const first = outcome(writer, { expectedSeq: 0, events: [TOO_BIG] });
  await expect(made).rejects.toMatchObject(refused);
  expect(await first).toMatchObject(refused);
  expect(await outcome(writer, { expectedSeq: 0, events: ['{}'] })).toMatchObject(refused);
  await writer.release();
  expect(await store.info('c')).toBeUndefined();
  await append(await store.create('c', HEAD), { expectedSeq: 0, events: ['{}'] });
});

test('a stream whose first events cannot be written is not there: its neighbors in the group go through', async () => {
  const impossible = { odd: true } as unknown as string;
  const [good, bad] = [store.begin('c', HEAD), store.begin('d', HEAD)] as const;
  const results = await Promise.all([
    outcome(good.writer, { expectedSeq: 0, events: ['{"n":1}'] }),
    outcome(bad.writer, { expectedSeq: 0, events: ['{"n":2}'], status: impossible }),
    outcome(bad.writer, {
      expectedSeq: 1,
      events: ['{"n":3}'],
      writes: [{ table: 't', key: 'k', value: 1 }],
    }),
  ]);
  const failed = { code: 'store_failed' };
  expect(results).toMatchObject([undefined, failed, failed]);
  await expect(bad.made).rejects.toMatchObject(failed);
  expect(await store.info('d')).toBeUndefined();
  expect(await store.tables.get('t', 'k')).toBeUndefined();
  expect(await store.read('c')).toEqual(['{"n":1}']);
});

test('a stream that cannot be written fails with its events alone: its neighbors in the group go through', async () => {
  const impossible = { ...HEAD, title: { odd: true } as unknown as string };
  const [good, bad, next] = [
    store.begin('c', HEAD),
    store.begin('d', impossible),
    store.begin('e', HEAD),
  ] as const;
  const results = await Promise.all([
    outcome(good.writer, { expectedSeq: 0, events: ['{"n":1}'] }),
    outcome(bad.writer, { expectedSeq: 0, events: ['{"n":2}'] }),
    outcome(next.writer, { expectedSeq: 0, events: ['{"n":3}'] }),
    bad.made.catch((error: unknown) => error),
  ]);
  expect(results).toMatchObject([undefined, { code: 'store_failed' }, undefined, { code: 'store_failed' }]);
  expect(await store.read('c')).toEqual(['{"n":1}']);
  expect(await store.info('d')).toBeUndefined();
  expect(await store.read('e')).toEqual(['{"n":3}']);
});

test('an append made in answer to a failure is not drawn into what fails behind it', async () => {
  const again = new Promise<unknown>((resolve) => {
    a.append({ expectedSeq: 0, events: [TOO_BIG] }, () => {
      a.append({ expectedSeq: 0, events: ['{"n":"again"}'] }, resolve);
    });
  });
  // In the same group as the failing append, so that its answer comes after the failure and before the next group.
  const read = store.read('b');
  await new Promise((resolve) => setImmediate(resolve)); // now that group is on its way
  const behind = outcome(a, { expectedSeq: 1, events: ['{"n":"behind"}'] });
  expect(await behind).toMatchObject({ code: 'store_full' });
  expect(await again).toBeUndefined();
  expect(await read).toEqual([]);
  expect(await store.read('a')).toEqual(['{"n":"again"}']);
});

test('the file itself refuses an append to a stream that has moved on behind its writer', async () => {
  await append(a, { expectedSeq: 0, events: ['{"n":1}'] });
  const db = new DatabaseSync(path);
  db.exec("UPDATE heads SET head = 7 WHERE id = (SELECT id FROM streams WHERE stream = 'a')");
  db.close();
  expect(await outcome(a, { expectedSeq: 1, events: ['{"n":2}'] })).toMatchObject({
    code: 'stream_moved',
    message: expect.stringContaining('7'),
  });
});

test('more than the queue holds is turned away, and what it holds is written', async () => {
  const codes = new Map<string | undefined, number>();
  for (let n = 0; n < 200_010; n++)
    a.append({ expectedSeq: 0, events: [] }, (error) =>
      codes.set(error?.code, (codes.get(error?.code) ?? 0) + 1),
    );
  await append(b, { expectedSeq: 0, events: ['{}'] }).catch(() => undefined);
  expect([...codes.keys()]).toEqual([undefined, 'store_overloaded']);
  expect(codes.get(undefined)).toBeGreaterThan(100_000);
  await append(a, { expectedSeq: 0, events: ['{}'] });
});

test('a watcher who throws keeps nobody from being told, nor what has gathered from being written', async () => {
  await store.info('a'); // nothing else is under way
  const surfaced: unknown[] = [];
  const heard = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', (error) => surfaced.push(error));
  try {
    store.watch('a', () => {
      throw new Error('his own bug');
    });
    const seen = new Promise<void>((resolve) => store.watch('a', resolve));
    const first = append(a, { expectedSeq: 0, events: ['{}'] });
    await Promise.resolve(); // it is on its way
    const second = new Promise<void>((resolve) =>
      b.whenDue?.(() => resolve(append(b, { expectedSeq: 0, events: ['{}'] }))),
    );
    await Promise.all([first, seen, second]);
  } finally {
    process.removeAllListeners('uncaughtException');
    for (const listener of heard) process.on('uncaughtException', listener);
  }
  expect(surfaced).toContainEqual(new Error('his own bug'));
});
