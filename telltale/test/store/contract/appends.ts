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

    test('a refused append fails alone: its neighbours in the same group go through', async () => {
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

    test('a caller that throws when told does not keep its neighbours from being told', async () => {
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
