import type { Pool, QueryConfig, QueryResult } from 'pg';
import type { FromBackend, NotedOwner, Outcome, Taken } from '../grouped/messages.ts';
import type { WorkerNote } from '../shared-store.ts';
import type { Consequences } from './group/decode-answer.ts';
import { isAppend, type Write } from './group/encode-call.ts';
import type { Ask, AskPrepared } from './writer-link.ts';

/** How far a stream is: its last event, and the last message that waits. */
interface OwnershipMark {
  head: number;
  message: number;
}

/**
 * Tells this store what others have written. It looks at the database every now and then, which is the floor; pokes of
 * the others make it quick (`poked`).
 */
export interface Attention {
  watch(stream: string, on: boolean): void;
  isWatched(stream: string): boolean;
  /** What this store itself has committed, which its callers hear of otherwise. */
  committed(stream: string, head: number): void;
  /** From `true` to `false` a look cannot tell one's own messages from those of others. */
  sending(on: boolean): void;
  sent(messages: Consequences['sent']): void;
  /** Somebody says that a stream has moved, or got a message. */
  poked(stream: string, head: number, message: number): void;
  /** Looks at everything: after a time in which pokes may have been lost. */
  look(): Promise<void>;
  stop(): void;
}

export interface AttentionDeps {
  readonly ask: AskPrepared;
  readonly schema: string;
  readonly ownership: Ownership;
  /** Has others tell of a stream, until the returned function is called. */
  readonly listen: (stream: string) => () => void;
  /** The last event of a stream that this store writes; undefined of any other. */
  readonly ownHead: (stream: string) => number | undefined;
  readonly tell: (message: FromBackend) => void;
  readonly lookMs: number;
}

/** Messages of streams of one's own that a look finds at once; those behind are found when these are gone. */
const MAX_MESSAGES = 1_000;

export function createAttention(deps: AttentionDeps): Attention {
  const { ask, schema, ownership, ownHead, tell } = deps;
  const MARKS = `SELECT s.stream, h.head, coalesce((SELECT max(i.id) FROM "${schema}".inbox i WHERE i.stream = s.id), 0)
    FROM "${schema}".streams s JOIN "${schema}".heads h ON h.id = s.id WHERE s.stream = ANY ($1::text[])`;
  const MESSAGES = `SELECT i.id, s.stream FROM "${schema}".inbox i JOIN "${schema}".heads h ON h.id = i.stream
    JOIN "${schema}".streams s ON s.id = i.stream WHERE NOT i.idle AND h.owner = $1 ORDER BY i.id LIMIT ${MAX_MESSAGES}`;
  const watched = new Map<string, OwnershipMark>();
  const ends = new Map<string, () => void>();
  let told = new Set<number>();
  let [sendings, sends] = [0, 0];
  let looking: Promise<void> | undefined;
  let isStopped = false;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const moved = (stream: string, head: number, message: number): boolean => {
    const mark = watched.get(stream);
    if (mark === undefined || (head <= mark.head && message <= mark.message)) return false;
    mark.head = Math.max(head, mark.head);
    mark.message = Math.max(message, mark.message);
    return true;
  };

  const lookAtWatched = async (streams: readonly string[]): Promise<void> => {
    const found: string[] = [];
    for (const [stream, head, message] of await ask('marks', MARKS, [streams])) {
      const name = String(stream);
      // What this store wrote itself it tells at the commit.
      const isOwn = ownHead(name) !== undefined;
      if (moved(name, isOwn ? 0 : Number(head), Number(message))) found.push(name);
    }
    if (found.length > 0) tell({ kind: 'moved', streams: found });
  };

  const lookAtInboxes = async (owner: number): Promise<void> => {
    const before = sends;
    const rows = await ask('messages', MESSAGES, [owner]);
    if (sendings > 0 || sends !== before) return; // the next look tells
    const streams = new Set<string>();
    for (const [id, stream] of rows) if (!told.has(Number(id))) streams.add(String(stream));
    told = new Set(rows.map(([id]) => Number(id)));
    if (streams.size > 0) tell({ kind: 'woken', streams: [...streams] });
  };

  const lookAtAll = async (): Promise<void> => {
    if (watched.size > 0) await lookAtWatched([...watched.keys()]);
    if (ownership.id !== null) await lookAtInboxes(ownership.id);
  };

  /** One at a time. A look that fails is one look less: the next comes soon. */
  const look = (): Promise<void> => {
    looking ??= lookAtAll()
      .catch(() => undefined)
      .finally(() => {
        looking = undefined;
      });
    return looking;
  };

  const wait = () => {
    if (isStopped) return;
    timer = setTimeout(() => void look().then(wait), deps.lookMs).unref();
  };
  wait();

  return {
    watch(stream, on) {
      ends.get(stream)?.();
      ends.delete(stream);
      if (!on) return void watched.delete(stream);
      ends.set(stream, deps.listen(stream));
      const own = ownHead(stream);
      watched.set(stream, { head: own ?? 0, message: 0 });
      // Events may have come since the caller asked: he is told once too often rather than once too seldom.
      if (own === undefined) lookAtWatched([stream]).catch(() => undefined);
      else if (own > 0) setImmediate(tell, { kind: 'moved', streams: [stream] });
    },
    isWatched: (stream) => watched.has(stream),
    committed(stream, head) {
      const mark = watched.get(stream);
      if (mark !== undefined) mark.head = Math.max(mark.head, head);
    },
    sending(on) {
      sendings += on ? 1 : -1;
      sends++;
    },
    sent(messages) {
      for (const { stream, id } of messages) {
        told.add(id);
        const mark = watched.get(stream);
        if (mark !== undefined) mark.message = Math.max(mark.message, id);
      }
    },
    poked(stream, head, message) {
      if (moved(stream, head, message)) tell({ kind: 'moved', streams: [stream] });
      if (message === 0 || told.has(message) || ownHead(stream) === undefined) return;
      told.add(message);
      tell({ kind: 'woken', streams: [stream] });
    },
    look,
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

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

/** The streams that this store writes, as far as it knows: their names and last events. */
export interface OwnStreams {
  /** The last committed event; undefined of a stream that is another's. */
  head(stream: string): number | undefined;
  /** All of them, as they were taken. */
  all(): readonly (readonly [id: number, epoch: number])[];
  /** Notes what a group did, and gives the streams that have new events, with the last of each. */
  committed(writes: readonly Write[], outcomes: ReadonlyMap<number, Outcome>): ReadonlyMap<string, number>;
}

interface OwnershipOwn {
  readonly stream: string;
  readonly epoch: number;
  head: number;
}

export function createOwnStreams(): OwnStreams {
  const byId = new Map<number, OwnershipOwn>();
  const byName = new Map<string, number>();

  const add = (stream: string, { id, epoch, head }: Taken) => {
    byId.set(id, { stream, epoch, head });
    byName.set(stream, id);
  };
  const drop = (id: number) => {
    const own = byId.get(id);
    if (own === undefined) return;
    byId.delete(id);
    if (byName.get(own.stream) === id) byName.delete(own.stream);
  };

  return {
    head(stream) {
      const id = byName.get(stream);
      return id === undefined ? undefined : byId.get(id)?.head;
    },
    all: () => [...byId].map(([id, { epoch }]) => [id, epoch] as const),
    committed(writes, outcomes) {
      const moved = new Map<string, number>();
      for (const [place, write] of writes.entries()) {
        const outcome = outcomes.get(place);
        if (isAppend(write)) {
          const [stream, , expectedSeq, count] = write;
          const made = stream < 0 ? outcomes.get(-1 - stream) : undefined;
          const id = made !== undefined && 'value' in made ? (made.value as Taken).id : stream;
          if (outcome !== undefined) {
            if ('error' in outcome && outcome.error.code === 'stream_lost') drop(id);
            continue;
          }
          const own = byId.get(id);
          if (own === undefined || count === 0) continue;
          own.head = expectedSeq + count;
          moved.set(own.stream, own.head);
        } else if (outcome !== undefined && 'value' in outcome) {
          if (write.op === 'create') {
            const head = write.first?.[3] ?? 0;
            add(write.stream, { ...(outcome.value as Taken), head });
            if (head > 0) moved.set(write.stream, head);
          } else if (write.op === 'acquire' && 'id' in (outcome.value as Taken))
            add(write.stream, outcome.value as Taken);
          else if (write.op === 'release') drop(write.stream);
          else if (write.op === 'settle' || write.op === 'remove') drop(byName.get(write.stream) ?? 0);
        }
      }
      return moved;
    },
  };
}

/**
 * Streams whose making or taking failed without an answer: it may have gone through all the same, or may still do so, and
 * then they are this owner's without its knowing, and nobody works on them. Each is given up for a while, as often as it
 * is found to be so.
 */
export interface DoubtfulStreams {
  add(streams: readonly string[]): void;
  isEmpty(): boolean;
  /** Not while something is written: then one that is being taken looks the same. */
  giveUp(): Promise<void>;
}

export interface DoubtfulDeps {
  readonly ask: Ask;
  readonly schema: string;
  readonly ownership: Pick<Ownership, 'id'>;
  /** Whether this store knows that it writes the stream. */
  readonly isHeld: (stream: string) => boolean;
  /** What was given up is anybody's. */
  readonly onGivenUp: () => void;
}

/** Longer than a server keeps a call that it has received and that waits for a lock. */
const DOUBT_MS = 60_000;
/** Of one that is not written down here, the end of this process is what frees it. */
const MAX_DOUBTFUL = 10_000;

export function createDoubtfulStreams(deps: DoubtfulDeps): DoubtfulStreams {
  const { ask, schema, ownership, isHeld, onGivenUp } = deps;
  const until = new Map<string, number>();
  return {
    add(streams) {
      for (const stream of streams)
        if (until.size < MAX_DOUBTFUL) until.set(stream, performance.now() + DOUBT_MS);
    },
    isEmpty: () => until.size === 0,
    async giveUp() {
      const now = performance.now();
      const streams = [...until.keys()].filter((stream) => !isHeld(stream));
      const { rows } = await ask(
        `UPDATE "${schema}".heads h SET owner = NULL FROM "${schema}".streams s
          WHERE s.stream = ANY ($1::text[]) AND h.id = s.id AND h.owner = $2 RETURNING 1`,
        [streams, ownership.id],
      );
      if (rows.length > 0) onGivenUp();
      for (const [stream, end] of until) if (end <= now || isHeld(stream)) until.delete(stream);
    },
  };
}
