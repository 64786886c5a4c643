import { afterAll, beforeAll, describe } from 'vitest';
import { openPostgresStore } from '../../src/store/postgres/open-postgres-store.ts';
import { type TestDatabase, testDatabase } from '../servers/shared-postgres.ts';
import { PATIENT } from './eventually.ts';
import { storeContract } from './store-contract.ts';
import { type TemporaryFolder, temporaryFolder } from './temporary-folder.ts';

let database: TestDatabase;
let folder: TemporaryFolder;
let schemas = 0;

beforeAll(async () => {
  [database, folder] = await Promise.all([testDatabase(), temporaryFolder()]);
}, PATIENT.timeout);
afterAll(async () => {
  await database.remove();
  await folder.remove();
});

describe('the store in a PostgreSQL database', PATIENT, () => {
  storeContract(async () => {
    const url = `${database.url}?schema=home_${++schemas}`;
    const graphs = folder.path('graphs.db');
    const shared = { url, graphs, pid: process.pid, durability: 'process' } as const;
    return {
      pid: process.pid,
      open: (clock) => openPostgresStore({ ...shared, clock }),
      openDead: (clock) => openPostgresStore({ ...shared, clock, isMute: true }),
      remove: async () => undefined, // the whole database is, at the end
    };
  });
});
