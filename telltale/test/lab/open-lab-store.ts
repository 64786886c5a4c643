import { join } from 'node:path';
import type { Clock } from '../../src/lib/clock.ts';
import { openStore } from '../../src/store/open-store.ts';
import { openPostgresStore } from '../../src/store/postgres/open-postgres-store.ts';
import type { Store } from '../../src/store/store.ts';

/** So that a round is quick: processes count as dead after a fifth of the usual time. */
export const LAB_LEASE_MS = 1_500;
const TIMING = { beatMs: 300, leaseMs: LAB_LEASE_MS, answerMs: 5_000 };

/** A store as every process of the lab opens it. */
export function openLabStore(
  location: string,
  options: { readonly clock: Clock; readonly cwd: string },
): Promise<Store> {
  const { clock, cwd } = options;
  if (!location.startsWith('postgres:')) return openStore(location, { clock, cwd, durability: 'process' });
  const graphs = join(cwd, `graphs-${process.pid}.db`);
  // What is less survives the deaths of our processes, and not those of the database.
  return openPostgresStore({ url: location, clock, durability: 'power', graphs, timing: TIMING });
}
