import { describe, expect, test } from 'vitest';
import type { StreamWriter } from '../../../src/store/store.ts';
import { append, outcome } from '../appending.ts';
import { eventually } from '../eventually.ts';
import { type Contract, SESSION } from './contract.ts';

export function appendsContract(contract: Contract): void {
  describe('appends', () => {
    test('what was appended is read back, in order', async () => {
      const { store } = contract;
      const writer = await store.create('s', SESSION);
      await append(writer, { expectedSeq: 0, events: ['{"a":1}', '{"b":"ü\\n𝄞"}'] });
      await append(writer, { expectedSeq: 2, events: ['{"c":3}'] });
      expect(await store.read('s')).toEqual(['{"a":1}', '{"b":"ü\\n𝄞"}', '{"c":3}']);
      expect(await store.info('s')).toMatchObject({ head: 3 });
    });

    test('a stream that is begun is there with its first events, and whatever is asked later finds it', async () => {
      const { store, other } = contract;
      const { writer, made } = store.begin('s', SESSION);
      expect(writer).toMatchObject({ epoch: 1, head: 0 });
      const first = append(writer, {
        expectedSeq: 0,
        events: ['{"n":1}', '{"n":2}'],
        writes: [{ table: 't', key: 'k', value: 'with it' }],
      });
      const second = append(writer, { expectedSeq: 2, events: ['{"n":3}'] });
      const third = append(writer, {
        expectedSeq: 3,
        events: ['{"n":4}'],
        status: 'waiting',
        writes: [{ table: 't', key: 'k', value: 'behind it' }],
      });
      let woken = 0;
      writer.onWake(() => woken++);
      const sent = store.send('s', { kind: 'steer', from: 'user', body: 'left' });
      const [info, inbox, read] = await Promise.all([store.info('s'), writer.inbox(), store.read('s')]);
      expect(info).toMatchObject({ ...SESSION, status: 'waiting', head: 4, owner: { epoch: 1 } });
      expect(inbox).toMatchObject([{ id: await sent, body: 'left' }]);
      expect(read).toEqual(['{"n":1}', '{"n":2}', '{"n":3}', '{"n":4}']);
      await Promise.all([made, first, second, third]);
      expect(woken).toBeGreaterThan(0);
      expect(await store.tables.get('t', 'k')).toBe('behind it');
      await append(writer, { expectedSeq: 4, events: ['{"n":5}'], consumed: [await sent] });
      writer.snapshot(5, 'five');
      await writer.release();
      expect(await other.snapshots('s')).toEqual([{ seq: 5, body: 'five' }]);
      expect(await other.acquire('s')).toMatchObject({ epoch: 2, head: 5 });
    });

    test('a stream that is begun where there is one is refused, and with it every append of its writer', async () => {
      const { store } = contract;
      const owner = await store.create('s', SESSION);
      const { writer, made } = store.begin('s', { ...SESSION, title: 'Another' });
      const refused = { code: 'stream_exists' };
      const first = outcome(writer, {
        expectedSeq: 0,
        events: ['{"by":"second"}'],
        writes: [{ table: 't', key: 'k', value: 'second' }],
      });
      const next = outcome(writer, {
        expectedSeq: 1,
        events: ['{"by":"second"}'],
        writes: [{ table: 't', key: 'k', value: 'second' }],
      });
      const neighbor = append(owner, { expectedSeq: 0, events: ['{"by":"first"}'] });
      await expect(made).rejects.toMatchObject(refused);
      expect(await Promise.all([first, next])).toMatchObject([refused, refused]);
      expect(await outcome(writer, { expectedSeq: 0, events: ['{}'] })).toMatchObject(refused);
      await neighbor;
      await writer.release();
      expect(await store.read('s')).toEqual(['{"by":"first"}']);
      expect(await store.info('s')).toMatchObject({ title: 'A title', owner: { epoch: owner.epoch } });
      expect(await store.tables.get('t', 'k')).toBeUndefined();
      await append(owner, { expectedSeq: 1, events: ['{"by":"first"}'] });
    });

    test('a stream whose first append is refused is not there, and its name can be given again', async () => {
      const { store } = contract;
      const { writer, made } = store.begin('s', SESSION);
      const refused = { code: 'event_malformed' };
      const first = outcome(writer, { expectedSeq: 0, events: ['{\n}'] });
      const second = outcome(writer, { expectedSeq: 0, events: ['{}'] });
      await expect(made).rejects.toMatchObject(refused);
      expect(await Promise.all([first, second])).toMatchObject([refused, refused]);
      await writer.release();
      expect(await store.info('s')).toBeUndefined();
      await append(await store.create('s', SESSION), { expectedSeq: 0, events: ['{"n":1}'] });
      expect(await store.read('s')).toEqual(['{"n":1}']);
    });

    test('a stream that is begun and given nothing is there, and goes on after an append that is refused', async () => {
      const { store } = contract;
      const { writer, made } = store.begin('s', SESSION);
      await made;
      const malformed = await outcome(writer, { expectedSeq: 0, events: ['{\n}'] });
      expect(malformed).toMatchObject({ code: 'event_malformed' });
      await append(writer, { expectedSeq: 0, events: ['{}'] });
      expect(await store.info('s')).toMatchObject({ head: 1 });
    });

    test('a stream that is begun with a name that cannot be stored is refused in the same way', async () => {
      const { store } = contract;
      const { writer, made } = store.begin('a\0b', SESSION);
      await expect(made).rejects.toMatchObject({ code: 'name_malformed' });
      expect(await outcome(writer, { expectedSeq: 0, events: ['{}'] })).toMatchObject({
        code: 'name_malformed',
      });
      await writer.release();
    });

    test('an append returns before it is settled', async () => {
      const { store } = contract;
      const writer = await store.create('s', SESSION);
      let isSettled = false;
      const settled = new Promise<void>((resolve) => {
        writer.append({ expectedSeq: 0, events: ['{}'] }, () => {
          isSettled = true;
          resolve();
        });
      });
      expect(isSettled).toBe(false);
      await settled;
    });

    test('a hundred queued appends of several writers settle in the order of the calls', async () => {
      const { store } = contract;
      const writers = await Promise.all(['a', 'b', 'c'].map((name) => store.create(name, SESSION)));
      const order: number[] = [];
      await Promise.all(
        Array.from({ length: 100 }, (_, n) => {
          const writer = writers[n % 3] as StreamWriter;
          return append(writer, { expectedSeq: Math.floor(n / 3), events: [`{"n":${n}}`] }, () =>
            order.push(n),
          );
        }),
      );
      expect(order).toEqual(Array.from({ length: 100 }, (_, n) => n));
      expect(await store.read('b')).toEqual(Array.from({ length: 33 }, (_, n) => `{"n":${n * 3 + 1}}`));
    });

    test('an append that expects another seq is refused with stream_moved, and so is every later one', async () => {
      const { store } = contract;
      const writer = await store.create('s', SESSION);
      await append(writer, { expectedSeq: 0, events: ['{"n":1}'] });
      expect(await outcome(writer, { expectedSeq: 0, events: ['{"n":2}'] })).toMatchObject({
        code: 'stream_moved',
      });
      expect(await outcome(writer, { expectedSeq: 1, events: ['{"n":3}'] })).toMatchObject({
        code: 'stream_moved',
      });
      expect(await store.read('s')).toEqual(['{"n":1}']);
    });

    test('a writer whose stream was taken over is refused with stream_lost, and nothing of its batch is there', async () => {
      const { store, dead } = contract;
      const late = await dead.create('s', SESSION);
      await append(late, { expectedSeq: 0, events: ['{"by":"first"}'] });
      const writer = await store.acquire('s');
      expect(writer.epoch).toBeGreaterThan(late.epoch);
      expect(writer.head).toBe(1);
      await append(writer, { expectedSeq: 1, events: ['{"by":"second"}'] });
      const refused = await outcome(late, {
        expectedSeq: 1,
        events: ['{"by":"late"}', '{"by":"late"}'],
        status: 'completed',
        writes: [{ table: 't', key: 'k', value: 'late' }],
      });
      expect(refused).toMatchObject({ code: 'stream_lost' });
      expect(await outcome(late, { expectedSeq: 2, events: ['{}'] })).toMatchObject({ code: 'stream_lost' });
      expect(await store.read('s')).toEqual(['{"by":"first"}', '{"by":"second"}']);
      expect(await store.tables.get('t', 'k')).toBeUndefined();
      expect(await store.info('s')).toMatchObject({ status: 'running', head: 2 });
    });

    test('a writer taken over before it wrote anything is refused, though the stream has not moved', async () => {
      const { store, dead } = contract;
      const late = await dead.create('s', SESSION);
      await store.acquire('s');
      expect(await outcome(late, { expectedSeq: 0, events: ['{}'] })).toMatchObject({ code: 'stream_lost' });
      expect(await store.read('s')).toEqual([]);
    });

    test('a refused append fails alone: its neighbors in the same group go through', async () => {
      const { store, dead } = contract;
      const [one, late, two] = await Promise.all(
        ['one', 'late', 'two'].map((name) => dead.create(name, SESSION)),
      );
      await store.acquire('late');
      const results = await Promise.all([
        outcome(one as StreamWriter, { expectedSeq: 0, events: ['{"n":1}'] }),
        outcome(late as StreamWriter, { expectedSeq: 0, events: ['{"n":2}'] }),
        outcome(two as StreamWriter, { expectedSeq: 0, events: ['{"n":3}'] }),
        outcome(late as StreamWriter, { expectedSeq: 1, events: ['{"n":4}'] }),
        outcome(one as StreamWriter, { expectedSeq: 1, events: ['{"n":5}'] }),
      ]);
      expect(results.map((error) => error?.code)).toEqual([
        undefined,
        'stream_lost',
        undefined,
        'stream_lost',
        undefined,
      ]);
      expect(await store.read('one')).toEqual(['{"n":1}', '{"n":5}']);
      expect(await store.read('late')).toEqual([]);
      expect(await store.read('two')).toEqual(['{"n":3}']);
    });

    test('an append without events sets the status and moves nothing', async () => {
      const { store } = contract;
      const writer = await store.create('s', SESSION);
      await append(writer, { expectedSeq: 0, events: ['{}'] });
      await append(writer, { expectedSeq: 1, events: [], status: 'waiting' });
      await append(writer, { expectedSeq: 1, events: ['{}'] });
      expect(await store.info('s')).toMatchObject({ head: 2, status: 'waiting' });
    });

    test('an event with a line break is refused, and the writer goes on', async () => {
      const { store } = contract;
      const writer = await store.create('s', SESSION);
      expect(await outcome(writer, { expectedSeq: 0, events: ['{}', '{\n}'] })).toMatchObject({
        code: 'event_malformed',
      });
      await append(writer, { expectedSeq: 0, events: ['{}'] });
      expect(await store.read('s')).toEqual(['{}']);
    });

    test('a caller that throws when told does not keep its neighbors from being told', async () => {
      const { store } = contract;
      const writer = await store.create('s', SESSION);
      const thrown: unknown[] = [];
      const listeners = process.listeners('uncaughtException');
      process.removeAllListeners('uncaughtException');
      process.once('uncaughtException', (error) => thrown.push(error));
      try {
        writer.append({ expectedSeq: 0, events: ['{}'] }, () => {
          throw new Error('of the caller');
        });
        await append(writer, { expectedSeq: 1, events: ['{}'] });
        await eventually(() => expect(thrown).toMatchObject([{ message: 'of the caller' }]));
      } finally {
        process.removeAllListeners('uncaughtException');
        for (const listener of listeners) process.on('uncaughtException', listener);
      }
    });
  });
}
