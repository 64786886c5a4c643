import { describe, expect, test } from 'vitest';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import { createMemoryHome } from '../../src/store/memory/memory-tables.ts';
import { append } from './appending.ts';
import { SESSION } from './contract/contract.ts';
import { storeContract } from './store-contract.ts';

const LIVING = 4711;
const DEAD = 666;

describe('the store in memory', () => {
  storeContract(async () => {
    const home = createMemoryHome();
    const isAlive = ({ pid }: { readonly pid: number }) => pid !== DEAD;
    return {
      pid: LIVING,
      open: async (clock) => createMemoryStore({ clock, home, pid: LIVING, isAlive }),
      openDead: async (clock) => createMemoryStore({ clock, home, pid: DEAD, isAlive }),
      remove: async () => undefined,
    };
  });

  // In files and databases it takes seconds.
  test('ten thousand messages fill an inbox, and one that is read makes room for another', async () => {
    const store = createMemoryStore({ clock: createSimulatedClock() });
    const writer = await store.create('s', SESSION);
    const message = { kind: 'steer', from: 'tester', body: 'x' };
    const sent: number[] = [];
    for (let n = 0; n < 10_000; n++) sent.push(await store.send('s', message));
    await expect(store.send('s', message)).rejects.toMatchObject({ code: 'inbox_full', retryable: true });
    await append(writer, { expectedSeq: 0, events: ['{}'], consumed: sent.slice(0, 1) });
    await store.send('s', message);
    expect(await writer.inbox()).toHaveLength(10_000);
  });
});
