import { createBossQueue } from '../../engine/fleet/boss/create-boss-queue.ts';
import { stillQuarantined } from '../../engine/fleet/sweep.ts';
import type { WorkQueue } from '../../engine/fleet/work-queue.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { SharedStore, WorkerRow } from '../../store/shared-store.ts';
import type { Store } from '../../store/store.ts';
import type { Fleet } from './fleet.ts';

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

/** What can be asked of a fleet without working for it. */
export type FleetDesk = Pick<Fleet, 'status' | 'retry'>;

/** Streams that were laid aside of which a look at the fleet tells. */
const MAX_TOLD = 100;

export function createFleetDesk(
  store: Pick<Store, 'info' | 'location'>,
  shared: Pick<SharedStore, 'fleet' | 'workers' | 'forgive'>,
  queue: Pick<WorkQueue, 'depth' | 'laidAside' | 'offer' | 'forget'>,
): FleetDesk {
  return {
    async status() {
      const laidAside = await stillQuarantined(store, queue, MAX_TOLD);
      const [workers, depth] = await Promise.all([shared.workers(), queue.depth()]);
      return { fleet: shared.fleet, workers: workers.map(shownWorker), queue: depth, laidAside };
    },
    async retry(stream) {
      const info = await store.info(stream);
      if (info === undefined) throw streamUnknown(stream, store.location);
      await shared.forgive(stream);
      await queue.offer([{ kind: info.kind, stream, group: stream }], 'again');
    },
  };
}

/** What processes tell each other only is not shown. */
const shownWorker = ({ key: _key, agents: _agents, ...worker }: WorkerRow): WorkerRow => worker;

const streamUnknown = (stream: string, location: string) =>
  new RuntimeError('session_unknown', `No session or run "${stream}" is in ${location}.`, {
    hint: 'To see what is quarantined: telltale fleet',
  });
