import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { createGroupedStore } from '../grouped/grouped-store.ts';
import { createProcessView } from '../sqlite/process-view.ts';
import type { Store } from '../store.ts';
import { storeClosed } from '../store-errors.ts';
import { createAsk, createAskPrepared } from './ask.ts';
import { createAttention } from './attention.ts';
import { createDeadAndBack } from './dead-and-back.ts';
import { createDoubtfulStreams } from './doubtful-streams.ts';
import { createRunGroup } from './group/run-group.ts';
import { createOwnStreams } from './own-streams.ts';
import { createOwnership } from './ownership.ts';
import type { Patience } from './patience.ts';
import { parsePostgresAddress } from './postgres-address.ts';
import { createOutlet, createPostgresBackend } from './postgres-backend.ts';
import { createPostgresClients } from './postgres-clients.ts';
import {
  type PostgresStoreOptions,
  type PostgresTiming,
  timingOf,
  USUAL_LEASE_MS,
} from './postgres-store-options.ts';
import { createReadRows } from './reads/read-rows.ts';
import { agreeOnLease } from './schema/agree-on-lease.ts';
import { migrate } from './schema/migrate.ts';
import { createSharedStore, ORPHANS } from './shared/create-shared-store.ts';
import { createLiveEnds } from './shared/live-wire.ts';
import { createSharedDatabase } from './shared/shared-database.ts';
import { createWire, STREAM, type Wire } from './wire/wire.ts';
import { createWriterLink } from './writer-link.ts';

/** Connections of the pool, for reads. Two more are the writer's and the listener's. */
const POOL_SIZE = 4;
const STAY_MS = 1_000;
/** For looking at every row of the log. */
const LONG_ANSWER_MS = 3_600_000;
const GRAPH_LOCK_TIMEOUT_MS = 10_000;

/**
 * Connects, and makes the schema or brings it up to date. Rejects with `store_unknown`, `store_unreachable`,
 * `store_denied`, `no_store`, `store_empty`, `store_unsupported`, `store_newer`, `store_foreign`, `store_other_fleet`,
 * `store_other_lease` or `store_unwritable`, and has then changed nothing.
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  const address = parsePostgresAddress(options.url);
  const { schema, place, location } = address;
  const { durability = 'power', clock, isMute = false } = options;
  const { answerMs } = timingOf(undefined, options.timing);
  const clients = await createPostgresClients(address, { poolSize: POOL_SIZE, timeoutMs: answerMs });
  const { pool, describe } = clients;
  let timing: PostgresTiming;
  try {
    const first = await clients.connect('');
    try {
      await migrate(first, address, options.migrations, options.mustExist);
      timing = timingOf(await agreeOnLease(first, address, USUAL_LEASE_MS), options.timing);
    } finally {
      await first.end();
    }
  } catch (error) {
    await clients.close();
    throw describe(error);
  }

  let isClosed = false;
  const patience: Patience = {
    patienceMs: timing.patienceMs,
    given: () => (isClosed ? storeClosed(location) : undefined),
    pause: (ms) => new Promise((wake) => setTimeout(wake, ms)),
  };
  const { self } = createProcessView(options);
  const peer = randomBytes(8).toString('hex');
  const askFreely = createAsk(pool, patience);
  const guard = async <T>(work: () => Promise<T>): Promise<T> => {
    if (isClosed) throw storeClosed(location);
    try {
      return await work();
    } catch (error) {
      throw describe(error);
    }
  };
  const ownership = createOwnership({
    pool,
    aside: () => wire.link,
    ask: askFreely,
    schema,
    self: { pid: self.pid, startedAt: self.startedAt, host: hostname(), peer },
    beatMs: timing.beatMs,
    leaseMs: timing.leaseMs,
    isMute,
    onClaimed: () => wire.start(),
  });
  const ask = createAskPrepared(pool, patience);
  const outlet = createOutlet();
  const own = createOwnStreams();
  const sweep = createDeadAndBack({ pool, schema, leaseMs: timing.leaseMs, patience, ownership, own });
  const attention = createAttention({
    ask,
    schema,
    ownership,
    listen: (stream) => wire.topics.add(STREAM + stream, () => undefined),
    ownHead: own.head,
    tell: outlet.tell,
    lookMs: timing.lookMs,
  });
  const { live, heard: heardLive, missed: missedLive } = createLiveEnds(() => wire);
  const { database, others } = createSharedDatabase({
    pool,
    link: () => wire.link,
    start: () => wire.start(),
    guard,
  });
  const wire: Wire = createWire({
    clients,
    schema,
    peer,
    poked: attention.poked,
    ownHead: own.head,
    heardLive,
    heardOther: others.heard,
    missed(of) {
      void attention.look();
      missedLive();
      if (of !== undefined) return; // one of the others was cut off, not this one
      wire.rung();
      others.again();
    },
  });
  const link = createWriterLink({ clients, schema, durability, patience });
  const groups = createRunGroup({
    link,
    ownership,
    schema,
    leaseMs: timing.leaseMs,
    describe,
    committed({ sent, adrift }) {
      attention.sent(sent);
      for (const { stream, id, peer: owner } of sent) {
        wire.poke(stream, 0, id);
        if (owner === null) wire.ring(ORPHANS);
        else if (owner !== peer) wire.pokePeer(owner, stream, id);
      }
      if (adrift) wire.ring(ORPHANS);
    },
  });
  const backend = createPostgresBackend({
    location,
    outlet,
    link,
    own,
    attention,
    doubtful: createDoubtfulStreams({
      ask: askFreely,
      schema,
      ownership,
      isHeld: (stream) => own.head(stream) !== undefined,
      onGivenUp: () => wire.ring(ORPHANS),
    }),
    lookMs: timing.lookMs,
    describe,
    read: createReadRows({
      ask,
      askLong: createAskPrepared(pool, patience, LONG_ANSWER_MS),
      schema,
      place,
      hasGraphs: () => existsSync(resolve(options.graphs)),
    }),
    runGroup: groups.run,
    moved(streams) {
      for (const [stream, head] of streams) wire.poke(stream, head, 0);
    },
    async close() {
      // Connections that nothing is asked of keep no process: it would end before they have said good-bye.
      const staying = setInterval(() => undefined, STAY_MS);
      try {
        attention.stop();
        try {
          if ((await ownership.resign()) > 0) wire.ring(ORPHANS);
          if (groups.store !== undefined)
            await pool.query(`DELETE FROM "${schema}".callers WHERE store = $1`, [groups.store]);
        } catch (error) {
          throw describe(error);
        } finally {
          isClosed = true;
          await Promise.allSettled([wire.close(), link.close(), clients.close()]);
        }
      } finally {
        clearInterval(staying);
      }
    },
  });
  const store = createGroupedStore({
    location,
    clock,
    backend,
    view: {
      self: { pid: self.pid, host: hostname() },
      isAlive: ownership.isAliveOwner,
      hostOf: (owner) => owner.place,
    },
    bury: sweep,
    async openGraphs() {
      const { startGraphThread } = await import('../sqlite/graph/start-graph-thread.ts');
      const path = resolve(options.graphs);
      const settings = { path, durability, lockTimeoutMs: GRAPH_LOCK_TIMEOUT_MS, maxPages: null };
      return startGraphThread(settings, `sqlite:${path}`);
    },
  });
  const { leaseMs } = timing;
  const shared = createSharedStore({
    address,
    ask: askFreely,
    ownership,
    leaseMs,
    clock,
    sweep,
    wire,
    live,
    database,
    guard,
  });
  return { ...store, shared };
}
