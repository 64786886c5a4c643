import type { Engine } from '../../engine/engine.ts';
import { createBossQueue } from '../../engine/fleet/create-boss-queue.ts';
import { createFleetEngine } from '../../engine/fleet/create-fleet-engine.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { SharedStore, WorkerNote } from '../../store/shared-store.ts';
import type { Store } from '../../store/store.ts';
import type { Fleet, FleetMember } from './fleet.ts';
import { createFleetDesk } from './fleet-desk.ts';

export interface OpenFleetOptions {
  readonly store: Store;
  readonly shared: SharedStore;
  readonly clock: Clock;
  readonly onError: (thrown: unknown, about?: { readonly stream: string }) => void;
  /** How many sessions are worked on in this process, whoever began them. */
  readonly sessions: () => number;
  /** Absent for a process that takes nothing up by itself. */
  readonly member?: FleetMember | undefined;
}

/** One that only works on what it is asked for. */
const GUEST: Omit<FleetMember, 'host' | 'version'> = { role: 'guest', capacity: 0 };

/** Joins the fleet of a shared store: from here on this process is seen by the others. */
export async function openFleet(
  options: OpenFleetOptions,
): Promise<{ readonly engine: Engine; readonly fleet: Fleet }> {
  const { store, shared, clock, onError, member } = options;
  const queue = await createBossQueue({ database: shared.database, schema: shared.schema, clock, onError });
  const { capacity } = member ?? GUEST;
  const engine = createFleetEngine({ store, shared, queue, clock, onError, capacity });
  let note: WorkerNote = { host: '', version: '', ...GUEST, ...member, working: 0 };
  const present = (change: Partial<WorkerNote>) => {
    note = { ...note, ...change };
    shared.present(note);
  };
  if (member !== undefined) present({});
  engine.onLoad((working) => present({ working }));
  const fleet: Fleet = {
    name: shared.fleet,
    ...createFleetDesk(store, shared, queue),
    workOnSessions: (work) => engine.onWork('session', work),
    admit: engine.admit,
    answersAt: (url) => present({ url }),
    drain() {
      engine.drain();
      present({ draining: true });
    },
  };
  return { engine, fleet };
}
