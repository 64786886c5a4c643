import { describe } from 'vitest';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite-store.ts';
import { PATIENT } from './eventually.ts';
import { storeContract } from './store-contract.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** Above the largest pid that Linux gives. */
const DEAD = 5_000_000;

describe('the store in a SQLite file', PATIENT, () => {
  storeContract(async () => {
    const folder = await temporaryFolder();
    const path = folder.path('store.db');
    return {
      pid: process.pid,
      open: (clock) => openSqliteStore({ path, clock, pid: process.pid, durability: 'process' }),
      openDead: (clock) => openSqliteStore({ path, clock, pid: DEAD, durability: 'process' }),
      remove: folder.remove,
    };
  });
});
