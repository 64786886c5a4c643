import type { Clock } from '../../../lib/clock.ts';
import type {
  LiveWire,
  SharedDatabase,
  SharedSlots,
  SharedStore,
  WorkerNote,
  WorkerRow,
} from '../../shared-store.ts';
import { keyLock } from '../group/encode-call.ts';
import type { Ownership } from '../ownership.ts';
import type { PostgresAddress } from '../postgres-clients.ts';
import { isContended, sqlState } from '../postgres-errors.ts';
import { AGE_MS } from '../schema/stream-writes.ts';
import type { Wire } from '../wire/wire.ts';
import type { Ask } from '../writer-link.ts';

export interface SharedDeps {
  readonly address: PostgresAddress;
  readonly ask: Ask;
  readonly ownership: Ownership;
  readonly leaseMs: number;
  readonly clock: Pick<Clock, 'now'>;
  readonly sweep: () => Promise<void>;
  readonly wire: Wire;
  readonly live: LiveWire;
  readonly database: SharedDatabase;
  /** Refuses when the store is closed, and names what goes wrong. */
  readonly guard: <T>(work: () => Promise<T>) => Promise<T>;
}

export const ORPHANS = 'o';

export function createSharedStore(deps: SharedDeps): SharedStore {
  const { address, ask, ownership, leaseMs, wire, live, database, guard } = deps;
  const { schema, fleet } = address;
  return {
    fleet,
    schema,
    orphans: (limit) =>
      guard(async () => {
        // Dead owners first: what was theirs is found at once.
        await deps.sweep();
        const values = [Math.max(0, limit), deps.clock.now()];
        const { rows } = await ask(`SELECT * FROM "${schema}".orphans_2($1, $2)`, values);
        return rows.map(({ stream, kind, name, status, root, deaths }) => ({
          stream,
          kind,
          name,
          status,
          root,
          deaths,
        }));
      }),
    forgive: (stream) =>
      guard(async () => {
        const sql = `DELETE FROM "${schema}".deaths WHERE id = (SELECT id FROM "${schema}".streams WHERE stream = $1)`;
        await ask(sql, [stream]);
      }),
    onOrphans: (moved) => wire.topics.add(ORPHANS, moved),
    workers: () => guard(() => readWorkers(ask, schema, leaseMs)),
    present: ownership.present,
    isAlive: ownership.isAlive,
    slots: createSlots({ ask, schema, ownership, leaseMs, wire, guard }),
    live,
    database,
  };
}

/** Of a process that owns streams and has not said what it is. */
const UNSAID = { role: 'process', version: '', capacity: 0, working: 0 } as const;

/** Every process that owns streams, or did until a while ago; the oldest first. */
async function readWorkers(ask: Ask, schema: string, leaseMs: number): Promise<readonly WorkerRow[]> {
  const { rows } = await ask(
    `SELECT w.id, w.pid, w.host, w.note, w.gone_at IS NOT NULL AS gone, ${AGE_MS} AS age,
      floor(extract(epoch FROM w.born_at) * 1000) AS started,
      (SELECT count(*) FROM "${schema}".heads h WHERE h.owner = w.id) AS holds
      FROM "${schema}".owners w ORDER BY w.id`,
  );
  return rows.map(({ id, pid, host, note, gone, age, started, holds }) => ({
    ...UNSAID,
    host,
    ...((note ?? {}) as Partial<WorkerNote>),
    id: Number(id),
    pid: Number(pid),
    holds: Number(holds),
    startedAt: Number(started),
    quietMs: Math.max(0, Math.round(Number(age))),
    alive: !gone && Number(age) <= leaseMs,
  }));
}

export interface SlotsDeps {
  readonly ask: Ask;
  readonly schema: string;
  readonly ownership: Ownership;
  readonly leaseMs: number;
  readonly wire: Wire;
  readonly guard: <T>(work: () => Promise<T>) => Promise<T>;
}

const FREE = 'f:';
const OWNER_GONE = 'TT001';
const MAX_TRIES = 5;
/** Slots are taken one after the other for each key; the lock is not that of a table's key. */
const LOCKS = '\0slots';

function createSlots({ ask, schema, ownership, leaseMs, wire, guard }: SlotsDeps): SharedSlots {
  const takeOnce = async (key: string, max: number, holder: string): Promise<boolean> => {
    const lock = keyLock(schema, LOCKS, key).toString();
    const values = [lock, key, max, holder, await ownership.claim(), leaseMs];
    const { rows } = await ask(`SELECT "${schema}".take_slot_1($1, $2, $3, $4, $5, $6) AS taken`, values);
    return rows[0].taken === true;
  };

  /** Permits that were given here and not given back, by key and holder. */
  const held = new Map<string, readonly [key: string, holder: string]>();
  const nameOf = (key: string, holder: string) => JSON.stringify([key, holder]);
  // Whoever was taken for dead lost them, and what they are for goes on: they count again, also where that is one too many.
  ownership.onClaimedAgain(async (id) => {
    const all = [...held.values()];
    if (all.length === 0) return;
    await ask(
      `INSERT INTO "${schema}".slots (key, holder, owner) SELECT h.key, h.holder, $3 FROM unnest($1::text[], $2::text[]) AS h(key, holder)
        ON CONFLICT (key, holder) DO UPDATE SET owner = excluded.owner`,
      [all.map(([key]) => key), all.map(([, holder]) => holder), id],
    );
  });

  return {
    take: (key, max, holder) =>
      guard(async () => {
        for (let left = MAX_TRIES; ; left--) {
          try {
            // Twice is as good as once: the holder is the same.
            const isTaken = await takeOnce(key, max, holder);
            if (isTaken) held.set(nameOf(key, holder), [key, holder]);
            return isTaken;
          } catch (error) {
            if (left === 0) throw error;
            if (sqlState(error) === OWNER_GONE) ownership.gone();
            else if (!isContended(error)) throw error;
          }
        }
      }),
    free: (key, holder) =>
      guard(async () => {
        held.delete(nameOf(key, holder));
        await ask(`DELETE FROM "${schema}".slots WHERE key = $1 AND holder = $2`, [key, holder]);
        wire.ring(FREE + key);
      }),
    onFree: (key, moved) => wire.topics.add(FREE + key, moved),
  };
}
