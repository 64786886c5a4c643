import { describe, expect, test } from 'vitest';
import type { Json } from '../../../src/lib/json.ts';
import { append, outcome } from '../appending.ts';
import { eventually } from '../eventually.ts';
import { type Contract, SESSION } from './contract.ts';

export function inboxContract(contract: Contract): void {
  describe('the inbox', () => {
    const message = (body: Json) => ({ kind: 'steer', from: 'tester', body });

    test('messages come in order, with when they were sent, and stay until they are consumed', async () => {
      const { store, clock } = contract;
      const writer = await store.create('s', SESSION);
      const start = clock.now();
      const first = await store.send('s', message('one'));
      await clock.advance(1000);
      const second = await store.send('s', message({ two: [2] }));
      const expected = [
        { id: first, at: start, ...message('one') },
        { id: second, at: start + 1000, ...message({ two: [2] }) },
      ];
      expect(await writer.inbox()).toEqual(expected);
      await append(writer, { expectedSeq: 0, events: ['{}'], consumed: [first] });
      expect(await writer.inbox()).toEqual(expected.slice(1));
    });

    test('a message consumed by an append that is queued is not shown again', async () => {
      const { store } = contract;
      const writer = await store.create('s', SESSION);
      const id = await store.send('s', message(1));
      const done = append(writer, { expectedSeq: 0, events: ['{}'], consumed: [id] });
      expect(await writer.inbox()).toEqual([]);
      await done;
    });

    test('a refused append consumes nothing', async () => {
      const { store, dead } = contract;
      const late = await dead.create('s', SESSION);
      const id = await store.send('s', message(1));
      const writer = await store.acquire('s');
      await outcome(late, { expectedSeq: 0, events: ['{}'], consumed: [id] });
      expect(await writer.inbox()).toMatchObject([{ id }]);
    });

    test('a message to a stream without an owner waits for the next one', async () => {
      const { store } = contract;
      const writer = await store.create('s', SESSION);
      await writer.release();
      await store.send('s', message('waits'));
      const again = await store.acquire('s');
      expect(await again.inbox()).toMatchObject([{ body: 'waits' }]);
    });

    test('the owner is woken by a message, whoever sends it, until he no longer listens', async () => {
      const { store, other } = contract;
      const writer = await store.create('s', SESSION);
      const neighbor = await store.create('n', SESSION);
      let [woken, neighbors] = [0, 0];
      const end = writer.onWake(() => woken++);
      neighbor.onWake(() => neighbors++);
      await store.send('s', message(1));
      await eventually(() => expect(woken).toBe(1));
      await other.send('s', message(2));
      await eventually(() => expect(woken).toBe(2));
      end();
      await store.send('s', message(3));
      expect(await writer.inbox()).toHaveLength(3);
      expect([woken, neighbors]).toEqual([2, 0]);
    });

    test('a message to an unknown stream is refused', async () => {
      const { store } = contract;
      await expect(store.send('nobody', message(1))).rejects.toMatchObject({ code: 'stream_unknown' });
    });

    test('a message of many megabytes is refused', async () => {
      const { store } = contract;
      await store.create('s', SESSION);
      await expect(store.send('s', message('x'.repeat(5_000_000)))).rejects.toMatchObject({
        code: 'message_too_large',
      });
    });
  });
}
