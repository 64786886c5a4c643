import { createHash, randomUUID } from 'node:crypto';
import { createEmbeddedEngine } from '../engine/embedded-engine.ts';
import type { Engine } from '../engine/engine.ts';
import type { WorkerCapacity } from '../engine/worker-capacity.ts';
import { RuntimeError } from '../lib/errors.ts';
import type { SharedStore, WorkerNote, WorkerRow } from '../store/shared-store.ts';
import type { Store } from '../store/store.ts';
import type { Fleet, FleetMember, KnownAgent } from './fleet.ts';
import { createFleetEngine } from './fleet-engine.ts';
import { createBossQueue } from './pg-boss-queue.ts';
import { stillQuarantined } from './recovery.ts';
import type { FleetEngineOptions, WorkQueue } from './work-queue.ts';

export interface OpenFleetOptions
  extends Pick<FleetEngineOptions, 'clock' | 'random' | 'onError' | 'onQuarantined' | 'onRetry'> {
  readonly store: Store;
  readonly shared: SharedStore;
  readonly places?: WorkerCapacity | undefined;
  /** Absent for a process that takes no work by itself. */
  readonly member?: FleetMember | undefined;
}

export interface JoinedFleet {
  readonly engine: Engine;
  readonly fleet: Fleet;
  /** Call it after the engine was closed. */
  close(): Promise<void>;
}

/** How often this process publishes its load. */
const PRESENT_MS = 1_000;

/** Joins the fleet of a shared store, so that other processes can see this one. */
export async function openFleet(options: OpenFleetOptions): Promise<JoinedFleet> {
  const { store, shared, clock, onError, member } = options;
  const queue = await createBossQueue({ database: shared.database, schema: shared.schema, onError });
  const service = createFleetService(store, shared, queue);
  const key = randomUUID();
  if (member === undefined) return workAlone(options, { ...service, name: shared.fleet }, queue);
  const agents = () => digestOf(member.agents?.() ?? []);
  let had = agents();
  const engine = createFleetEngine({ ...options, queue, capacity: member.capacity, key, agents });
  let url: string | undefined;
  let endTelling: () => void = () => undefined;

  const { role, host, version, capacity } = member;
  const present = () => {
    const { working, draining } = engine.load();
    const has = agents();
    // Work that was quarantined because of a missing agent may now be possible.
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
      ...service,
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
 * The fleet for a command or program that is not a member. It takes no work from others and offers none. It
 * works on what it starts and triggers, as on a store of one machine. The fence keeps others from working on
 * the same streams.
 */
function workAlone(
  { store, clock, onError }: OpenFleetOptions,
  service: Pick<Fleet, 'name' | 'status' | 'retry'>,
  queue: WorkQueue,
): JoinedFleet {
  return {
    engine: createEmbeddedEngine({ store, clock, onError }),
    fleet: {
      ...service,
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

/** A digest of a set of agents. */
const digestOf = (agents: readonly KnownAgent[]): string =>
  createHash('sha256')
    .update(
      agents
        .map(({ hash }) => hash)
        .sort()
        .join(' '),
    )
    .digest('hex')
    .slice(0, 16);

export interface OpenFleetService extends FleetService {
  close(): Promise<void>;
}

/** Opens the fleet service for commands. Rejects with `not_shared` for a store of one machine. */
export async function openFleetService(
  store: Store,
  onError: (thrown: unknown) => void,
): Promise<OpenFleetService> {
  const { shared } = store;
  if (shared === undefined) throw notShared(store.location);
  const queue = await createBossQueue({ database: shared.database, schema: shared.schema, onError });
  return { ...createFleetService(store, shared, queue), close: queue.close };
}

const notShared = (location: string) =>
  new RuntimeError('not_shared', `${location} is a store of a single machine, so it has no fleet.`, {
    hint: 'Use the PostgreSQL database that the workers share: telltale fleet --store postgres://USER@HOST/DATABASE',
  });

/** Operations on a fleet that need no membership. */
export type FleetService = Pick<Fleet, 'status' | 'retry'>;

/** The maximum number of quarantined streams in the status. */
const MAX_TOLD = 100;

function createFleetService(
  store: Pick<Store, 'info' | 'location'>,
  shared: Pick<SharedStore, 'fleet' | 'workers' | 'forgive'>,
  queue: Pick<WorkQueue, 'depth' | 'laidAside' | 'offer' | 'forget'>,
): FleetService {
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

/** A worker without the fields that are only for other processes. */
const shownWorker = ({ key: _key, agents: _agents, ...worker }: WorkerRow): WorkerRow => worker;

const streamUnknown = (stream: string, location: string) =>
  new RuntimeError('session_unknown', `No session or run "${stream}" is in ${location}.`, {
    hint: 'To see what is quarantined: telltale fleet',
  });
