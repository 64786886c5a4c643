import { describe } from 'vitest';
import { createMemoryHome } from '../../src/store/memory/memory-home.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
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
});
