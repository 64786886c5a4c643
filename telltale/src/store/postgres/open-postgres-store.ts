import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import type { Client, Pool } from 'pg';
import type { Clock } from '../../lib/clock.ts';
import { createGroupedStore } from '../grouped/grouped-store.ts';
import { type LiveWire, MAX_LIVE_BYTES } from '../shared-store.ts';
import { createProcessView } from '../sqlite/process-view.ts';
import type { Store } from '../store.ts';
import { checkName, storeClosed } from '../store-errors.ts';
import { createRunGroup } from './group/run-group.ts';
import {
  createAttention,
  createDoubtfulStreams,
  createOwnership,
  createOwnStreams,
  type Ownership,
  type OwnStreams,
} from './ownership.ts';
import { createOutlet, createPostgresBackend } from './postgres-backend.ts';
import { createPostgresClients, type PostgresAddress, parsePostgresAddress } from './postgres-clients.ts';
import { liveTooLong, otherLease } from './postgres-errors.ts';
import { createReadRows } from './reads/read-rows.ts';
import { migrate } from './schema/migrate.ts';
import { type Migration, PRODUCT } from './schema/migrations.ts';
import { AGE_MS } from './schema/stream-writes.ts';
import { createSharedStore, ORPHANS } from './shared/create-shared-store.ts';
import { createSharedDatabase } from './shared/shared-database.ts';
import { createWire, STREAM, type Wire } from './wire/wire.ts';
import { createAsk, createAskPrepared, createWriterLink, type Patience, patiently } from './writer-link.ts';

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

/**
 * All of a fleet judge by the same lease, or those with a shorter one would bury the others. The database remembers it:
 * an address that names none gets that of the fleet (undefined: the usual one), and one that names another is refused
 * for as long as somebody goes by the old one.
 */
async function agreeOnLease(
  client: Client,
  { schema, place, leaseMs: asked }: Pick<PostgresAddress, 'schema' | 'place' | 'leaseMs'>,
  usualMs: number,
): Promise<number | undefined> {
  const found = async () => {
    // As JSON, since a store of the first version has no such column.
    const sql = `SELECT (to_jsonb(m) ->> 'lease_ms')::bigint AS lease FROM "${schema}".meta m WHERE product = $1`;
    const { rows } = await client.query(sql, [PRODUCT]);
    const lease = rows[0]?.lease ?? null;
    return lease === null ? undefined : Number(lease);
  };
  const lease = await found();
  if (asked === undefined || asked === (lease ?? usualMs)) return lease;
  const { rowCount } = await client.query(
    `UPDATE "${schema}".meta SET lease_ms = $2 WHERE product = $1 AND NOT EXISTS (
      SELECT 1 FROM "${schema}".owners w WHERE w.gone_at IS NULL AND ${AGE_MS} <= greatest($2::bigint, coalesce(lease_ms, $3::bigint)))`,
    [PRODUCT, asked, usualMs],
  );
  if (rowCount === 1) return asked;
  throw otherLease(place, schema, (await found()) ?? usualMs, asked);
}

export interface DeadAndBackDeps {
  readonly pool: Pool;
  readonly schema: string;
  readonly leaseMs: number;
  readonly patience: Patience;
  readonly ownership: Ownership;
  readonly own: Pick<OwnStreams, 'all'>;
}

/** Of a silence that nobody is taken for dead for. */
const NEVER_MS = 1e15;

/**
 * Whoever was taken for dead and is back owns again what nobody has taken. Gives what buries the dead, where this process
 * can tell who is.
 */
function createDeadAndBack(deps: DeadAndBackDeps): () => Promise<void> {
  const { pool, schema, leaseMs, patience, ownership, own } = deps;
  ownership.onClaimedAgain(async (id) => {
    const held = own.all();
    await pool.query(
      `UPDATE "${schema}".heads h SET owner = $1 FROM (
        SELECT g.id FROM "${schema}".heads g JOIN unnest($2::bigint[], $3::bigint[]) AS o(id, epoch)
          ON g.id = o.id AND g.epoch = o.epoch WHERE NOT EXISTS (
            SELECT 1 FROM "${schema}".owners w WHERE w.id = g.owner AND w.gone_at IS NULL) ORDER BY g.id FOR UPDATE OF g
      ) own WHERE h.id = own.id`,
      [id, held.map(([stream]) => stream), held.map(([, epoch]) => epoch)],
    );
  });
  return async () => {
    // Asked anew at each try: between two of them it may have been cut off.
    await patiently(patience, () =>
      pool.query(`SELECT "${schema}".sweep_2($1, $2)`, [
        ownership.id,
        ownership.isSteady() ? leaseMs : NEVER_MS,
      ]),
    );
  };
}

/** The live wire of the store, and what goes into it. */
export interface LiveEnds {
  readonly live: LiveWire;
  heard(topic: string, text: string): void;
  /** Messages may have been lost. */
  missed(): void;
}

type PostgresStoreListener = Parameters<LiveWire['listen']>[1];

const LIVE = 'l:';
/** Of a channel's name: it goes with every message, beside `MAX_LIVE_BYTES`. */
const MAX_CHANNEL_BYTES = 700;

function createLiveEnds(wire: () => Wire): LiveEnds {
  const listeners = new Map<string, Set<PostgresStoreListener>>();
  const check = (channel: string) => {
    checkName('A channel', channel);
    const bytes = Buffer.byteLength(channel);
    if (bytes > MAX_CHANNEL_BYTES) throw liveTooLong(channel, bytes, MAX_CHANNEL_BYTES);
  };

  return {
    live: {
      send(channel, text) {
        check(channel);
        const bytes = Buffer.byteLength(text);
        if (bytes > MAX_LIVE_BYTES) throw liveTooLong(channel, bytes, MAX_LIVE_BYTES);
        // PostgreSQL has no NUL in a text; JSON, which this mostly is, has none either.
        if (wire().isHeard(LIVE + channel)) wire().live(LIVE + channel, text.replaceAll('\0', '\ufffd'));
      },
      isHeard: (channel) => wire().isHeard(LIVE + channel),
      listen(channel, listener) {
        check(channel);
        const topic = LIVE + channel;
        const own = { heard: listener.heard.bind(listener), gap: listener.gap.bind(listener) };
        const others = listeners.get(topic) ?? new Set();
        listeners.set(topic, others.add(own));
        const end = wire().topics.add(topic, () => undefined);
        return () => {
          others.delete(own);
          if (others.size === 0 && listeners.get(topic) === others) listeners.delete(topic);
          end();
        };
      },
    },
    heard(topic, text) {
      for (const { heard } of [...(listeners.get(topic) ?? [])]) heard(text);
    },
    missed() {
      for (const some of [...listeners.values()]) for (const { gap } of [...some]) gap();
    },
  };
}

export interface PostgresStoreOptions {
  /** `postgres://USER:PASSWORD@HOST:PORT/DATABASE`; of its parameters `schema`, `fleet` and `lease` are ours, the others `pg`'s. */
  readonly url: string;
  readonly clock: Pick<Clock, 'now'>;
  /** `power` (the default) survives the plug of the database's machine, `process` only its programs' deaths. */
  readonly durability?: 'power' | 'process';
  readonly pid?: number;
  /** Used where there is no /proc to read it from. */
  readonly processStartedAt?: number;
  /**
   * The SQLite file of the knowledge graphs. They are about folders of this machine, so they stay on it; and in a place
   * that lasts, since what agents have learned is in it and nowhere else.
   */
  readonly graphs: string;
  readonly timing?: Partial<PostgresTiming>;
  /** Refuses with `store_empty` where there is none, instead of making one: for who only looks. */
  readonly mustExist?: boolean;
  /** For tests: never gives a sign of life, so that the others take it for dead. */
  readonly isMute?: boolean;
  /** For tests: what this version knows of the schema. */
  readonly migrations?: readonly Migration[];
}

export interface PostgresTiming {
  /** Between signs of life. */
  readonly beatMs: number;
  /** Without one for so long an owner is dead. */
  readonly leaseMs: number;
  /** How late something is noticed whose poke was lost. */
  readonly lookMs: number;
  /** How long a database that went away is waited for before requests fail with `store_unreachable`. */
  readonly patienceMs: number;
  /** How long an answer is waited for before the connection is taken for dead. */
  readonly answerMs: number;
}

const USUAL: PostgresTiming = {
  beatMs: 1_500,
  leaseMs: 7_500,
  lookMs: 2_000,
  patienceMs: 15_000,
  answerMs: 30_000,
};
const USUAL_LEASE_MS = USUAL.leaseMs;

/** Of five signs of life four may be late. */
const leaseOf = (leaseMs: number | undefined): Partial<PostgresTiming> =>
  leaseMs === undefined ? {} : { leaseMs, beatMs: leaseMs / 5 };

/** By the lease of the fleet, and before it what a caller says. */
const timingOf = (leaseMs: number | undefined, given: Partial<PostgresTiming> = {}): PostgresTiming => ({
  ...USUAL,
  ...leaseOf(leaseMs),
  ...given,
});
