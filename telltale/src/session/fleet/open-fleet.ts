import type { Engine } from '../../engine/engine.ts';
import { createBossQueue } from '../../engine/fleet/boss/create-boss-queue.ts';
import { createFleetEngine } from '../../engine/fleet/create-fleet-engine.ts';
import type { FleetEngineOptions } from '../../engine/fleet/fleet-engine.ts';
import type { SharedStore, WorkerNote } from '../../store/shared-store.ts';
import type { Store } from '../../store/store.ts';
import type { Fleet, FleetMember } from './fleet.ts';
import { createFleetDesk } from './fleet-desk.ts';

export interface OpenFleetOptions
  extends Pick<FleetEngineOptions, 'clock' | 'random' | 'onError' | 'onLaidAside'> {
  readonly store: Store;
  readonly shared: SharedStore;
  /** How many sessions are worked on in this process, whoever began them. */
  readonly sessions: () => number;
  /** Absent for a process that takes nothing up by itself. */
  readonly member?: FleetMember | undefined;
}

export interface JoinedFleet {
  readonly engine: Engine;
  readonly fleet: Fleet;
  /** After the engine. */
  close(): Promise<void>;
}

/** How often others are told how much is worked on here. */
const PRESENT_MS = 1_000;

/** Joins the fleet of a shared store: from here on this process is seen by the others. */
export async function openFleet(options: OpenFleetOptions): Promise<JoinedFleet> {
  const { store, shared, clock, onError, member } = options;
  const queue = await createBossQueue({ database: shared.database, schema: shared.schema, onError });
  const engine = createFleetEngine({ ...options, queue, capacity: member?.capacity ?? 0 });
  let url: string | undefined;
  let endTelling: () => void = () => undefined;

  const present = ({ role, host, version, capacity }: FleetMember) => {
    const { working, draining } = engine.load();
    const note: WorkerNote = {
      ...{ role, host, version, capacity, working },
      ...(url === undefined ? {} : { url }),
      ...(draining ? { draining } : {}),
    };
    shared.present(note);
    endTelling = clock.after(PRESENT_MS, () => present(member as FleetMember));
  };
  const presentNow = () => {
    endTelling();
    if (member !== undefined) present(member);
  };
  presentNow();

  return {
    engine,
    fleet: {
      name: shared.fleet,
      ...createFleetDesk(store, shared, queue),
      workOnSessions(work) {
        engine.onWork('session', work);
        if (member !== undefined) engine.start();
      },
      admit: engine.admit,
      answersAt(address) {
        url = address;
        presentNow();
      },
      async drain() {
        const drained = engine.drain();
        presentNow();
        await drained;
      },
    },
    async close() {
      endTelling();
      await queue.close();
    },
  };
}
