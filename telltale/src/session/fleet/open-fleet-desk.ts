import { createBossQueue } from '../../engine/fleet/boss/create-boss-queue.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { Store } from '../../store/store.ts';
import { createFleetDesk, type FleetDesk } from './fleet-desk.ts';

export interface OpenFleetDesk extends FleetDesk {
  close(): Promise<void>;
}

/** For commands that look at a fleet. Rejects with `not_shared` where the store is of one machine. */
export async function openFleetDesk(
  store: Store,
  onError: (thrown: unknown) => void,
): Promise<OpenFleetDesk> {
  const { shared } = store;
  if (shared === undefined) throw notShared(store.location);
  const queue = await createBossQueue({ database: shared.database, schema: shared.schema, onError });
  return { ...createFleetDesk(store, shared, queue), close: queue.close };
}

const notShared = (location: string) =>
  new RuntimeError('not_shared', `${location} is a store of a single machine, so it has no fleet.`, {
    hint: 'Use the PostgreSQL database that the workers share: telltale fleet --store postgres://USER@HOST/DATABASE',
  });
