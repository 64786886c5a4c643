import { createHash, randomUUID } from 'node:crypto';
import { createEmbeddedEngine } from '../../engine/embedded/create-embedded-engine.ts';
import type { Engine } from '../../engine/engine.ts';
import { createBossQueue } from '../../engine/fleet/boss/create-boss-queue.ts';
import { createFleetEngine } from '../../engine/fleet/create-fleet-engine.ts';
import type { FleetEngineOptions, WorkQueue } from '../../engine/fleet/work-queue.ts';
import type { Places } from '../../engine/locations.ts';
import type { SharedStore, WorkerNote } from '../../store/shared-store.ts';
import type { Store } from '../../store/store.ts';
import type { LoadedAgent } from '../loaded-agent.ts';
import type { Fleet, FleetMember } from './fleet.ts';
import { createFleetDesk } from './fleet-service.ts';

export interface OpenFleetOptions
  extends Pick<FleetEngineOptions, 'clock' | 'random' | 'onError' | 'onLaidAside' | 'onRetry'> {
  readonly store: Store;
  readonly shared: SharedStore;
  readonly places?: Places | undefined;
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
  const desk = createFleetDesk(store, shared, queue);
  const key = randomUUID();
  if (member === undefined) return workAlone(options, { ...desk, name: shared.fleet }, queue);
  const agents = () => digestOf(member.agents?.() ?? []);
  let had = agents();
  const engine = createFleetEngine({ ...options, queue, capacity: member.capacity, key, agents });
  let url: string | undefined;
  let endTelling: () => void = () => undefined;

  const { role, host, version, capacity } = member;
  const present = () => {
    const { working, draining } = engine.load();
    const has = agents();
    // What was quarantined for want of an agent may go on with those that it has now.
    if (has !== had) void engine.reconsider();
    had = has;
    const note: WorkerNote = {
      role,
      host,
      version,
      capacity,
      working,
      key,
      agents: has,
      ...(url === undefined ? {} : { url }),
      ...(draining ? { draining } : {}),
    };
    shared.present(note);
    endTelling = clock.after(PRESENT_MS, present);
  };
  const presentNow = () => {
    endTelling();
    present();
  };
  presentNow();

  return {
    engine,
    fleet: {
      name: shared.fleet,
      ...desk,
      workOnSessions(work) {
        engine.onWork('session', work);
        engine.start();
      },
      admit: engine.admit,
      figures: () => ({ ...engine.load(), retries: engine.retries() }),
      forget: (kind, stream) => void queue.forget([{ kind, stream }]).catch(onError),
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

/**
 * A command or a program that is no member takes nothing from the others and offers them nothing: it works on what it
 * begins and on what that triggers, as it does on a store of one machine. The fence keeps others from doing the same.
 */
function workAlone(
  { store, clock, onError }: OpenFleetOptions,
  desk: Pick<Fleet, 'name' | 'status' | 'retry'>,
  queue: WorkQueue,
): JoinedFleet {
  return {
    engine: createEmbeddedEngine({ store, clock, onError }),
    fleet: {
      ...desk,
      workOnSessions: () => undefined,
      admit: async () => 'here',
      figures: () => ({ working: 0, capacity: 0, draining: false, retries: 0 }),
      forget: (kind, stream) => void queue.forget([{ kind, stream }]).catch(onError),
      answersAt: () => undefined,
      drain: async () => undefined,
    },
    close: queue.close,
  };
}

/** Of what a process has: the same for the same agents. */
const digestOf = (agents: readonly LoadedAgent<unknown>[]): string =>
  createHash('sha256')
    .update(
      agents
        .map(({ hash }) => hash)
        .sort()
        .join(' '),
    )
    .digest('hex')
    .slice(0, 16);
