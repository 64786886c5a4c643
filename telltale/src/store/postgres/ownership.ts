import type { Pool, QueryConfig, QueryResult } from 'pg';
import type { NotedOwner } from '../grouped/messages.ts';
import type { WorkerNote } from '../shared-store.ts';
import type { Ask } from './ask.ts';

/** Who this store is to the others: one row for all of its streams, made with the first. */
export interface Ownership {
  /** The row's id; makes it if need be, or again where others took this owner for dead. */
  claim(): Promise<number>;
  /** The row's id, if it is there as far as is known. */
  readonly id: number | null;
  /** Others took this owner for dead. */
  gone(): void;
  /** Whether this owner has given a sign of life lately enough for others to count on it. */
  isAlive(): boolean;
  /**
   * Whether it may take others for dead: not while it was itself cut off until a moment ago. After an outage that all
   * had alike, each waits for as long as the others have time to come back.
   */
  isSteady(): boolean;
  /** Done at each later claim, before anything else is done under the new id: what is held becomes its own again. */
  onClaimedAgain(restore: (id: number) => Promise<void>): void;
  isAliveOwner(owner: NotedOwner): boolean;
  /** Noted with the next sign of life; at once where it is the first. */
  present(note: WorkerNote): void;
  /** Gives up everything, and says how many streams it owned. */
  resign(): Promise<number>;
}

export interface OwnershipDeps {
  readonly pool: Pool;
  /** A way past what waits for a connection of the pool; it may be closed for a moment. */
  readonly aside: () => {
    readonly isUp: boolean;
    query(config: QueryConfig): Promise<QueryResult | undefined>;
    /** It does not answer: another connection takes its place. */
    drop(): void;
  };
  readonly ask: Ask;
  readonly schema: string;
  readonly self: {
    readonly pid: number;
    readonly startedAt: number;
    readonly host: string;
    readonly peer: string;
  };
  readonly beatMs: number;
  readonly leaseMs: number;
  /** For tests of what others do then: it never gives a sign of life. */
  readonly isMute: boolean;
  /** It is an owner now: others have messages for it. */
  readonly onClaimed: () => void;
}

export function createOwnership(deps: OwnershipDeps): Ownership {
  const { pool, ask, schema, self, beatMs, leaseMs, isMute } = deps;
  let id: number | null = null;
  let claiming: Promise<number> | undefined;
  let note: WorkerNote | undefined;
  let beatenAt = Number.NEGATIVE_INFINITY;
  /** Since when signs of life have come through again. */
  let backAt = Number.NEGATIVE_INFINITY;
  const restores: ((id: number) => Promise<void>)[] = [];
  const longSilenceMs = leaseMs / 2;
  let hasClaimed = false;
  let timer: ReturnType<typeof setInterval> | undefined;
  /** The ways by which a sign of life goes now: one that waits behind slow reads keeps none from going past them. */
  const under = new Set<'aside' | 'pool'>();

  const insert = async (): Promise<number> => {
    const asked = performance.now();
    const { rows } = await ask(
      `INSERT INTO "${schema}".owners (pid, started_at, host, peer, note, beat_at)
        VALUES ($1, $2, $3, $4, $5, ${isMute ? "'-infinity'" : 'clock_timestamp()'}) RETURNING id`,
      [self.pid, self.startedAt, self.host, self.peer, note === undefined ? null : JSON.stringify(note)],
    );
    const made = Number(rows[0].id);
    // Not the first: others took it for dead, and may have set free what it holds.
    if (hasClaimed) {
      backAt = performance.now();
      for (const restore of restores) await restore(made);
    }
    hasClaimed = true;
    id = made;
    beatenAt = asked;
    deps.onClaimed();
    if (!isMute && timer === undefined) timer = setInterval(() => void beat(), beatMs).unref();
    return id;
  };

  /** Counted from when it was sent: what the database noted cannot be older. */
  const beat = async (): Promise<void> => {
    const aside = deps.aside();
    const way = aside.isUp && !under.has('aside') ? 'aside' : 'pool';
    if (under.has(way) || isMute) return;
    // A process that was taken for dead comes back as another, one beat later.
    if (id === null) return void claim().catch(() => undefined);
    under.add(way);
    const asked = performance.now();
    const of = id;
    try {
      const update = {
        name: 'telltale_beat',
        text: `UPDATE "${schema}".owners SET beat_at = clock_timestamp(), note = $2 WHERE id = $1 AND gone_at IS NULL`,
        values: [of, note === undefined ? null : JSON.stringify(note)],
        query_timeout: leaseMs,
      };
      const sent =
        way === 'aside' ? await within(longSilenceMs, aside.query(update)) : await pool.query(update);
      if (sent === undefined) return; // it was cut just now
      if (sent.rowCount === 1) {
        if (asked - beatenAt > longSilenceMs) backAt = performance.now();
        beatenAt = Math.max(beatenAt, asked);
      } else if (id === of) id = null;
    } catch {
      // The next one comes soon; without any, this owner counts itself as dead as the others do.
      if (way === 'aside') aside.drop();
    } finally {
      under.delete(way);
    }
  };

  const claim = (): Promise<number> => {
    if (id !== null) return Promise.resolve(id);
    claiming ??= insert().finally(() => {
      claiming = undefined;
    });
    return claiming;
  };

  const isSteady = () => {
    const now = performance.now();
    if (timer === undefined) return true; // it has given no sign of life yet that could have been missed
    return now - beatenAt <= longSilenceMs && now - backAt >= leaseMs;
  };

  return {
    claim,
    get id() {
      return id;
    },
    gone() {
      id = null;
    },
    isAlive: () => id !== null && performance.now() - beatenAt < leaseMs,
    isSteady,
    isAliveOwner: ({ beatAgeMs }) => beatAgeMs <= leaseMs || !isSteady(),
    onClaimedAgain: (restore) => void restores.push(restore),
    present(about) {
      const isFirst = note === undefined;
      note = about;
      // It is tried again with the next claim; until then nobody hears of this process.
      if (id === null) claim().catch(() => undefined);
      else if (isFirst) void beat();
    },
    async resign() {
      clearInterval(timer);
      await claiming?.catch(() => undefined);
      if (id === null) return 0;
      const { rows } = await pool.query(
        `WITH freed AS (UPDATE "${schema}".heads SET owner = NULL WHERE owner = $1 RETURNING 1),
          slots AS (DELETE FROM "${schema}".slots WHERE owner = $1),
          gone AS (DELETE FROM "${schema}".owners WHERE id = $1)
          SELECT count(*) AS streams FROM freed`,
        [id],
      );
      id = null;
      return Number(rows[0].streams);
    },
  };
}

/** Rejects where nothing came of it by then. */
function within<T>(ms: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`Nothing was heard for ${ms} ms.`)), ms).unref();
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
