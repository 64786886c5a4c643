import { describe, expect, test } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import { append } from '../appending.ts';
import { type Contract, SESSION } from './contract.ts';

export function listContract(contract: Contract): void {
  describe('the list of streams', () => {
    test('streams are listed newest first, with all that is known of them', () =>
      contract.alone(async (open) => {
        const { clock, home } = contract;
        const store = await open();
        const start = clock.now();
        const parent = await store.create('parent', SESSION);
        await clock.advance(5);
        await store.create('child', { ...SESSION, kind: 'run', parent: 'parent', title: 'Child' });
        await clock.advance(5);
        await append(parent, { expectedSeq: 0, events: ['{}'], status: 'waiting' });
        const owner = { pid: home.pid, startedAt: expect.any(Number), epoch: 1 };
        expect(await store.list()).toEqual([
          {
            stream: 'child',
            place: expect.any(Number),
            kind: 'run',
            name: 'writer',
            status: 'running',
            title: 'Child',
            parent: 'parent',
            createdAt: start + 5,
            updatedAt: start + 5,
            head: 0,
            owner,
          },
          {
            stream: 'parent',
            place: expect.any(Number),
            kind: 'session',
            name: 'writer',
            status: 'waiting',
            title: 'A title',
            createdAt: start,
            updatedAt: start + 10,
            head: 1,
            owner,
          },
        ]);
        await parent.release();
        expect(await store.info('parent')).not.toHaveProperty('owner');
      }));

    test('an owner that is dead is not shown', async () => {
      const { store, dead } = contract;
      await dead.create('s', SESSION);
      expect(await store.info('s')).not.toHaveProperty('owner');
    });

    test('the list is narrowed by kind, by status and to a number', () =>
      contract.alone(async (open) => {
        const store = await open();
        for (const [name, kind, status] of [
          ['a', 'session', 'running'],
          ['b', 'run', 'running'],
          ['c', 'session', 'completed'],
          ['d', 'session', 'waiting'],
        ] as const)
          await store.create(name, { ...SESSION, kind, status });
        const names = async (filter: Parameters<Store['list']>[0]) =>
          (await store.list(filter)).map(({ stream }) => stream);
        expect(await names({ kind: 'session' })).toEqual(['d', 'c', 'a']);
        expect(await names({ status: ['running', 'waiting'] })).toEqual(['d', 'b', 'a']);
        expect(await names({ kind: 'session', status: ['running'] })).toEqual(['a']);
        expect(await names({ limit: 2 })).toEqual(['d', 'c']);
        expect(await names({ status: [] })).toEqual([]);
        expect(await names({ limit: 0 })).toEqual([]);
        expect(await names({ limit: -1 })).toEqual([]);
      }));

    test('the list is narrowed by name, by parent and to those made before another', () =>
      contract.alone(async (open) => {
        const { clock } = contract;
        const store = await open();
        await store.create('a', { ...SESSION, name: 'coder' });
        await store.create('b', { ...SESSION, kind: 'run', name: 'check', parent: 'a' });
        await clock.advance(5);
        await store.create('c', { ...SESSION, name: 'coder' });
        await store.create('d', { ...SESSION, kind: 'run', name: 'check', parent: 'c' });
        await store.create('e', { ...SESSION, name: 'writer', parent: 'a' });
        const names = async (filter: Parameters<Store['list']>[0]) =>
          (await store.list(filter)).map(({ stream }) => stream);
        expect(await names({ name: 'coder' })).toEqual(['c', 'a']);
        expect(await names({ parent: 'a' })).toEqual(['e', 'b']);
        expect(await names({ parent: 'a', kind: 'run' })).toEqual(['b']);
        expect(await names({ name: 'nobody' })).toEqual([]);
        const c = await store.info('c');
        expect(await names({ before: c! })).toEqual(['b', 'a']);
        expect(await names({ before: c!, kind: 'session', limit: 1 })).toEqual(['a']);
        // Of those that were made in one moment each has a place of its own.
        expect(await names({ before: (await store.info('e'))! })).toEqual(['d', 'c', 'b', 'a']);
        expect(await names({ before: (await store.info('d'))! })).toEqual(['c', 'b', 'a']);
        await store.create('f', SESSION);
        expect(await names({ before: c! })).toEqual(['b', 'a']);
        expect(await names({ before: { place: 0 } })).toEqual([]);
      }));

    test('a stream that waits for a time says for which, until its status is another', async () => {
      const { store, other } = contract;
      const writer = await store.create('s', SESSION);
      await append(writer, { expectedSeq: 0, events: ['{}'], status: 'waiting', due: 1_234 });
      await append(writer, { expectedSeq: 1, events: ['{}'] });
      expect(await other.info('s')).toMatchObject({ status: 'waiting', due: 1_234 });
      expect(
        (await other.list({ status: ['waiting'] })).find(({ stream }) => stream.endsWith('s')),
      ).toMatchObject({
        due: 1_234,
      });
      await append(writer, { expectedSeq: 2, events: ['{}'], status: 'running' });
      expect(await other.info('s')).not.toHaveProperty('due');
    });
  });
}
