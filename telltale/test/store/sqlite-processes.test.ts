import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Store } from '../../src/store/store.ts';
import { append, outcome } from './appending.ts';
import { eventually, PATIENT } from './eventually.ts';
import { openInlineStore } from './open-inline-store.ts';
import { type StoreProcess, startStoreProcess } from './start-store-process.ts';
import { type TemporaryFolder, temporaryFolder } from './temporary-folder.ts';

const HEAD = { kind: 'session', name: 'here', status: 'running', title: 'here' } as const;

let folder: TemporaryFolder;
let path: string;
let stores: Store[];
let processes: StoreProcess[];

beforeEach(async () => {
  folder = await temporaryFolder();
  path = folder.path('store.db');
  [stores, processes] = [[], []];
});
afterEach(async () => {
  for (const one of processes) await one.kill();
  for (const one of stores) await one.close();
  await folder.remove();
});

const open = async (): Promise<Store> => {
  const store = openInlineStore({ path });
  stores.push(store);
  return store;
};
const start = (...args: readonly string[]): StoreProcess => {
  const started = startStoreProcess(...args);
  processes.push(started);
  return started;
};
test(
  'a stream that another process writes is refused with its pid; when that is killed, it can be taken',
  PATIENT,
  async () => {
    const other = start('hold', path, 's');
    await other.says('holds');
    const store = await open();
    await expect(store.acquire('s')).rejects.toMatchObject({
      code: 'stream_owned',
      message: expect.stringContaining(`process ${other.pid}`),
      // Of sessions and of workflow runs: what it says has to work for both.
      hint: expect.stringContaining('telltale logs s -f'),
    });
    expect((await store.info('s'))?.owner).toMatchObject({ pid: other.pid, epoch: 1 });
    await other.kill();
    expect(await store.info('s')).not.toHaveProperty('owner');
    const writer = await store.acquire('s');
    expect(await store.read('s')).toEqual(Array.from({ length: 10 }, (_, n) => `{"n":${n + 1}}`));
    await append(writer, { expectedSeq: 10, events: ['{"n":11}'] });
  },
);

test('a message from another process wakes the owner here', PATIENT, async () => {
  const store = await open();
  const writer = await store.create('s', HEAD);
  let woken = 0;
  writer.onWake(() => woken++);
  await start('send', path, 's').says('sent');
  await eventually(() => expect(woken).toBe(1));
  expect(await writer.inbox()).toMatchObject([{ body: 'hello' }]);
});

test('several processes may make a new store at once', PATIENT, async () => {
  const others = Array.from({ length: 2 }, () => start('open', folder.path('new/folder/store.db')));
  expect(await Promise.all(others.map(({ ended }) => ended))).toEqual([0, 0]);
  for (const one of others) expect(one.said()).toEqual(['opened']);
});

test(
  'after kill -9 every append that was reported is there, in order and without gaps, and the streams go on',
  PATIENT,
  async () => {
    const other = start('flood', path, 'f');
    await eventually(() => expect(other.said().length).toBeGreaterThan(300));
    await other.kill();
    const reported = new Map<string, number>();
    for (const line of other.said()) {
      const [stream = '', seq] = line.split(' ');
      reported.set(stream, Number(seq));
    }
    const store = await open();
    expect(reported.size).toBe(4);
    for (const [stream, seq] of reported) {
      const events = await store.read(stream);
      expect(events.length).toBeGreaterThanOrEqual(seq);
      expect(events).toEqual(events.map((_, n) => JSON.stringify({ seq: n + 1 })));
      const writer = await store.acquire(stream);
      expect(writer.head).toBe(events.length);
      expect(await outcome(writer, { expectedSeq: writer.head, events: ['{}'] })).toBeUndefined();
    }
  },
);

test(
  'a store that is left open does not hold the process, but an append that is not settled does',
  PATIENT,
  async () => {
    const other = start('leave', path, 's');
    expect(await other.ended).toBe(0);
    expect(other.said()).toEqual(['committed']);
    expect(await (await open()).read('s')).toEqual(['{}']);
  },
);
