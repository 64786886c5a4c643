import { createHash } from 'node:crypto';
import type { Db, JobInsert, JobWithMetadata, PgBoss } from 'pg-boss';
import { RuntimeError } from '../lib/errors.ts';
import type { SharedDatabase } from '../store/shared-store.ts';
import {
  ASIDE_MS,
  LONGEST_PAUSE_MS,
  MAX_OFFERS,
  NOT_SETTLED,
  offerKey,
  offerRounds,
  type QuarantinedWork,
  type QueueDepth,
  RETRIES,
  TAKEN_MS,
  type TakenOffer,
  type WorkFailure,
  type WorkOffer,
  type WorkQueue,
} from './work-queue.ts';

export interface BossQueueOptions {
  readonly database: SharedDatabase;
  /** The store's; the queue's is named `SCHEMA_jobs`. */
  readonly schema: string;
  /** Told what pg-boss has to say, and what became of its upkeep. */
  readonly onError: (thrown: unknown) => void;
  /** Tries of an offer after the first. */
  readonly retries?: number;
}

/** Rounds beyond it are one round: the column is an integer of 32 bits. */
const LAST_ROUND = 2_000_000_000;
/** What nobody settled is given back by `tend`; this is for a fleet in which nobody is left to do that. */
const EXPIRE_SECONDS = 60;
const KEEP_ASIDE_SECONDS = 30 * 86_400;
/** pg-boss keeps what has failed for good beside its copy among what is laid aside: nobody looks at it. */
const KEEP_FAILED_SECONDS = 3_600;
/** No job waits for another: the least that pg-boss can be asked to look for such. */
const FLOW_SECONDS = 3_600;

/**
 * The queue of a fleet on `pg-boss`, over the store's own connections. A stream has one job at a time (policy
 * `exclusive`), which is deleted when it is settled, so that the table holds what waits and nothing else.
 */
export async function createBossQueue(options: BossQueueOptions): Promise<WorkQueue> {
  const { database, onError, retries = RETRIES } = options;
  const name = `${options.schema}_jobs`;
  const schema = `"${name}"`;
  const wakes = new Set<() => void>();
  const failed = (thrown: unknown): never => {
    throw queueFailed(name, thrown);
  };

  const makeBoss = async () => {
    const { PgBoss } = await import('pg-boss');
    return new PgBoss({
      db: bossDatabase(database, (queue) => {
        if (queue === undefined || queue === WORK) for (const wake of [...wakes]) wake();
      }),
      schema,
      schedule: false,
      useListenNotify: true,
      flowIntervalSeconds: FLOW_SECONDS,
    });
  };
  const boss = await makeBoss().catch(failed);
  boss.on('error', (error) => onError(queueFailed(name, error)));
  boss.on('warning', ({ message }) => onError(queueWarned(name, message)));
  const tables = createBossTables(database, schema);
  try {
    await boss.start();
    await boss.createQueue(ASIDE, { retentionSeconds: KEEP_ASIDE_SECONDS });
    await boss.createQueue(WORK, { policy: 'exclusive', deadLetter: ASIDE, notify: true });
    await tables.prepare();
  } catch (thrown) {
    await boss.stop({ graceful: false }).catch(onError);
    failed(thrown);
  }

  const jobOf = (offer: WorkOffer, round: number): JobInsert<JobData> => ({
    data: dataOf(offer),
    singletonKey: jobKey(offer),
    group: { id: groupIdOf(offer.group) },
    priority: -Math.min(round, LAST_ROUND),
    retryLimit: retries,
    retryDelay: 1,
    retryBackoff: true,
    retryDelayMax: LONGEST_PAUSE_MS / 1_000,
    expireInSeconds: EXPIRE_SECONDS,
    deleteAfterSeconds: KEEP_FAILED_SECONDS,
  });

  const offer = async (offers: readonly WorkOffer[], again: boolean): Promise<number> => {
    const asked = new Map(offers.map((each) => [jobKey(each), each]));
    const { offered, aside } = await tables.standing([...asked.values()]);
    const stale: string[] = [];
    const fresh = [...asked].flatMap(([key, each]) => {
      const laid = aside.get(key) ?? [];
      if (offered.has(key) || (!again && laid.some(({ ageMs }) => ageMs < ASIDE_MS))) return [];
      stale.push(...laid.map(({ id }) => id));
      return [each];
    });
    if (fresh.length === 0) return 0;
    if (stale.length > 0) await boss.deleteJob(ASIDE, stale);
    const groups = fresh.map(({ group }) => groupIdOf(group));
    const rounds = offerRounds(groups, await tables.rounds([...new Set(groups)]));
    const jobs = fresh.map((each, at) => jobOf(each, rounds[at] ?? 0));
    // Of two processes that offer one stream at once, the second adds nothing.
    return (await boss.insert(WORK, jobs, { returnId: true }))?.length ?? 0;
  };

  const quarantine = async (
    offers: readonly WorkOffer[],
    why: WorkFailure,
  ): Promise<readonly QuarantinedWork[]> => {
    const asked = new Map(offers.map((each) => [jobKey(each), each]));
    const { offered, aside } = await tables.standing([...asked.values()]);
    const fresh = [...asked].filter(([key]) => !offered.has(key) && !aside.has(key));
    const jobs = fresh.map(([singletonKey, each]) => ({
      data: { ...dataOf(each), ...outputOf(why) },
      singletonKey,
      retryLimit: 0,
    }));
    if (jobs.length > 0) await boss.insert(ASIDE, jobs);
    return fresh.map(([, { kind, stream, group }]) => ({
      kind,
      stream,
      group,
      at: Date.now(),
      why: outputOf(why).why,
    }));
  };

  const close = async () => {
    wakes.clear();
    await boss.stop({ graceful: false, close: false });
  };

  return {
    offer: (offers, again) =>
      offers.length === 0 ? Promise.resolve(0) : offer(offers, again !== undefined).catch(failed),
    take: (most, last, never) =>
      takeJobs(boss, retries, Math.min(most, MAX_OFFERS), last, never, (each) => offer([each], true)).catch(
        failed,
      ),
    onOffered(wake) {
      wakes.add(wake);
      return () => {
        wakes.delete(wake);
      };
    },
    turn: (everyMs) => tables.turn(everyMs).catch(failed),
    async tend() {
      const late = await tables.late(TAKEN_MS, MAX_OFFERS).catch(failed);
      if (late.length === 0) return [];
      const done = await failJobs(boss, late, NOT_SETTLED).catch(failed);
      return late
        .filter(({ id, retryCount }) => retryCount >= retries && done.has(id))
        .map(({ data, at }): QuarantinedWork => ({ ...data, at, why: outputOf(NOT_SETTLED).why }));
    },
    depth: () => tables.depth().catch(failed),
    laidAside: (limit) => tables.laidAside(limit).catch(failed),
    quarantine: (offers, why) =>
      offers.length === 0 ? Promise.resolve([]) : quarantine(offers, why).catch(failed),
    async forget(streams) {
      const offers = streams.map((each) => ({ ...each, group: each.stream }));
      if (offers.length === 0) return;
      const { aside } = await tables.standing(offers).catch(failed);
      const ids = [...aside.values()].flatMap((laid) => laid.map(({ id }) => id));
      if (ids.length > 0) await boss.deleteJob(ASIDE, ids).catch(failed);
    },
    close,
  };
}

const dataOf = ({ kind, stream, group, tried, deaths = 0 }: WorkOffer): JobData => ({
  kind,
  stream,
  group,
  ...(deaths === 0 ? {} : { deaths }),
  ...(tried === undefined ? {} : { tried }),
});

/** The store's own connections, as pg-boss wants them. `heard` is told the queue that has something new, or none: any. */
const bossDatabase = (database: SharedDatabase, heard: (queue?: string) => void): Db => ({
  async executeSql(text, values) {
    // Several statements in one text go without values, over the simple protocol.
    const { rows } = await database.execute(text, values?.length === 0 ? undefined : values);
    return { rows: [...rows] };
  },
  listen: (channel, onNotification, onReconnect) =>
    database.listen(
      channel,
      (payload) => {
        onNotification(payload);
        heard(payload);
      },
      () => {
        onReconnect();
        heard();
      },
    ),
});

/** The queue could not be opened, or could not do what was asked. */
const queueFailed = (schema: string, cause: unknown) =>
  new RuntimeError(
    'work_queue_failed',
    `The fleet's queue in schema "${schema}" failed: ${messageOf(cause)}`,
    {
      hint: 'Look whether the database answers, and whether its user may make schemas and tables in it. Nothing is lost: what waits is on the log.',
      retryable: true,
      cause,
    },
  );

/** Something that an operator had better look at. */
const queueWarned = (schema: string, message: string) =>
  new RuntimeError('work_queue_warning', `The fleet's queue in schema "${schema}": ${message}`, {
    hint: 'See docs/operations.md, and the page of pg-boss on this warning.',
    retryable: true,
  });

/** pg-boss tells of some errors by objects that only look like one. */
const messageOf = (cause: unknown): string =>
  typeof cause === 'object' && cause !== null && 'message' in cause ? String(cause.message) : String(cause);

type JobAttempt = Pick<LateJob, 'id' | 'retryCount'>;

/** Those of the groups in `last` only where the others do not come to so many. */
async function takeJobs(
  boss: PgBoss,
  retries: number,
  most: number,
  last: ReadonlySet<string> = new Set(),
  never: ReadonlySet<string> = new Set(),
  offerAgain: (offer: WorkOffer) => Promise<unknown> = async () => undefined,
): Promise<readonly TakenOffer[]> {
  const fetch = (batchSize: number, ignoreGroups: string[]) =>
    boss.fetch<JobData>(WORK, { batchSize, includeMetadata: true, ignoreGroups });
  if (most < 1) return [];
  const first = await fetch(most, [...last, ...never].map(groupIdOf));
  const rest =
    last.size === 0 || first.length === most
      ? []
      : await fetch(most - first.length, [...never].map(groupIdOf));
  return [...first.sort(inOrder), ...rest.sort(inOrder)].map(
    ({ id, retryCount, data, createdOn, startedOn }): TakenOffer => {
      const attempt = { id, retryCount };
      return {
        ...data,
        waitedMs: Math.max(0, startedOn.getTime() - createdOn.getTime()),
        retries: retryCount,
        // Where it has been given to another meanwhile, this one has no say any more.
        async settled() {
          await boss.deleteJob(WORK, attempt);
        },
        async failed(why) {
          const done = await failJobs(boss, [attempt], why);
          return done.has(id) && retryCount >= retries ? 'aside' : 'again';
        },
        // Where this process dies in between, a sweep finds the stream and offers it anew.
        async passedOn(tried) {
          await boss.deleteJob(WORK, attempt);
          await offerAgain({ ...data, tried });
        },
        async quarantined(why, tried) {
          const { why: text } = outputOf(why);
          const { kind, stream, group } = data;
          const quarantined: JobData = { kind, stream, group, tried, why: text };
          await boss.insert(ASIDE, [{ data: quarantined, singletonKey: jobKey(data), retryLimit: 0 }]);
          await boss.deleteJob(WORK, attempt);
          return { kind, stream, group, tried, why: text, at: Date.now() };
        },
      };
    },
  );
}

const inOrder = (one: JobWithMetadata<JobData>, other: JobWithMetadata<JobData>) =>
  other.priority - one.priority || one.createdOn.getTime() - other.createdOn.getTime();

/** Gives those that were still at this try; the others have been given to somebody else, or are gone. */
async function failJobs(
  boss: PgBoss,
  jobs: readonly JobAttempt[],
  why: WorkFailure,
): Promise<ReadonlySet<string>> {
  const attempts = jobs.map(({ id, retryCount }) => ({ id, retryCount }));
  // It answers with more than its type says.
  const answer: { readonly settled?: readonly string[] } = await boss.fail(WORK, attempts, outputOf(why));
  return new Set(answer.settled);
}

/** What is kept of it, and shown. */
const outputOf = ({ code, message }: WorkFailure) => ({ why: `${message} [${code}]` });

const WORK = 'work';
const ASIDE = 'laid_aside';

/** What a job carries. `why` is there where it was laid aside without a try. */
export type JobData = WorkOffer & { readonly why?: string };

/** A try of a job that has taken too long. */
export interface LateJob {
  readonly id: string;
  readonly retryCount: number;
  readonly data: JobData;
  /** When it was looked at. */
  readonly at: number;
}

/** What is known of streams before they are offered. */
export interface OfferStatus {
  /** Keys of those that are offered or taken. */
  readonly offered: ReadonlySet<string>;
  /** By key, the jobs of those that are laid aside, and for how long. */
  readonly aside: ReadonlyMap<string, readonly { readonly id: string; readonly ageMs: number }[]>;
}

/** What pg-boss does not answer, or only from a cache of a minute: read from its tables. */
export interface BossTables {
  /** Makes what is not pg-boss's own. */
  prepare(): Promise<void>;
  turn(everyMs: number): Promise<boolean>;
  standing(offers: readonly WorkOffer[]): Promise<OfferStatus>;
  /** The rounds of those that wait, by group; see `offerRounds`. */
  rounds(
    groups: readonly string[],
  ): Promise<{ readonly current: number; readonly last: Map<string, number> }>;
  late(afterMs: number, limit: number): Promise<readonly LateJob[]>;
  depth(): Promise<QueueDepth>;
  laidAside(limit: number): Promise<readonly QuarantinedWork[]>;
}

/** `schema` is quoted. */
function createBossTables({ execute }: Pick<SharedDatabase, 'execute'>, schema: string): BossTables {
  const all = async <Row>(text: string, values: readonly unknown[] = []) =>
    (await execute(text, values)).rows as unknown as readonly Row[];

  return {
    async prepare() {
      // Two that make a table at once get in each other's way, although each asks whether it is there.
      await execute(`BEGIN;
        SELECT pg_advisory_xact_lock(hashtextextended('telltale turns ${schema.replaceAll("'", "''")}', 0));
        CREATE TABLE IF NOT EXISTS ${schema}.turns (name text PRIMARY KEY, taken_at timestamptz NOT NULL);
        INSERT INTO ${schema}.turns VALUES ('sweep', '-infinity') ON CONFLICT DO NOTHING;
        COMMIT`);
    },
    // Of those that ask at once one finds the row as it was; the others wait for it, look again, and find it taken.
    async turn(everyMs) {
      const taken = await all(
        `UPDATE ${schema}.turns SET taken_at = clock_timestamp()
          WHERE name = 'sweep' AND (taken_at <= clock_timestamp() - $1 * interval '1 ms'
            OR taken_at > clock_timestamp() + interval '1 second') RETURNING 1 AS taken`, // the clock was set back
        [everyMs],
      );
      return taken.length === 1;
    },
    async standing(offers) {
      const keys = offers.map(jobKey);
      const rows = await all<{ key: string; id: string | null; age: number }>(
        `SELECT singleton_key AS key, NULL AS id, 0 AS age FROM ${schema}.job
          WHERE name = '${WORK}' AND state <= 'active' AND policy = 'exclusive'
            AND COALESCE(singleton_key, '') = ANY($1::text[])
        UNION ALL
        SELECT singleton_key, id::text, (extract(epoch FROM now() - created_on) * 1000)::float8 FROM ${schema}.job
          WHERE name = '${ASIDE}' AND state < 'active' AND NOT blocked AND singleton_key = ANY($1::text[])`,
        [keys],
      );
      const offered = new Set<string>();
      const aside = new Map<string, { id: string; ageMs: number }[]>();
      for (const { key, id, age } of rows) {
        if (id === null) offered.add(key);
        else aside.set(key, [...(aside.get(key) ?? []), { id, ageMs: age }]);
      }
      return { offered, aside };
    },
    async rounds(groups) {
      const rows = await all<{ group: string | null; priority: number }>(
        `SELECT NULL AS group, max(priority) AS priority FROM ${schema}.job
          WHERE name = '${WORK}' AND state < 'active' AND NOT blocked HAVING count(*) > 0
        UNION ALL
        SELECT group_id, min(priority) FROM ${schema}.job
          WHERE name = '${WORK}' AND state < 'active' AND NOT blocked AND group_id = ANY($1::text[]) GROUP BY group_id`,
        [groups.map(groupIdOf)],
      );
      const last = new Map(
        rows.flatMap(({ group, priority }) => (group === null ? [] : [[group, -priority]])),
      );
      return { current: -(rows.find(({ group }) => group === null)?.priority ?? 0), last };
    },
    late: (afterMs, limit) =>
      all<LateJob>(
        `SELECT id::text AS id, retry_count AS "retryCount", data, round(extract(epoch FROM now()) * 1000)::float8 AS at
          FROM ${schema}.job WHERE name = '${WORK}' AND state = 'active' AND started_on <= now() - $1 * interval '1 ms' LIMIT $2`,
        [afterMs, limit],
      ),
    async depth() {
      const [row] = await all<Record<'waiting' | 'taken' | 'aside' | 'lag', number>>(
        `SELECT (count(*) FILTER (WHERE name = '${WORK}' AND state < 'active'))::int AS waiting,
            (count(*) FILTER (WHERE name = '${WORK}' AND state = 'active'))::int AS taken,
            (count(*) FILTER (WHERE name = '${ASIDE}' AND state < 'active'))::int AS aside,
            COALESCE(extract(epoch FROM now() - min(greatest(created_on, start_after))
              FILTER (WHERE name = '${WORK}' AND state < 'active' AND start_after <= now())) * 1000, 0)::float8 AS lag
          FROM ${schema}.job WHERE name IN ('${WORK}', '${ASIDE}')`,
      );
      const { waiting = 0, taken = 0, aside = 0, lag = 0 } = row ?? {};
      return { waiting, taken, laidAside: aside, lagMs: Math.max(0, Math.round(lag)) };
    },
    async laidAside(limit) {
      const rows = await all<{ data: JobData; at: number; why: string | null }>(
        `SELECT data, (extract(epoch FROM created_on) * 1000)::float8 AS at, coalesce(source_output ->> 'why', data ->> 'why') AS why
          FROM ${schema}.job WHERE name = '${ASIDE}' AND state < 'active' ORDER BY created_on DESC LIMIT $1`,
        [limit],
      );
      return rows.map(({ data: { kind, stream, group, tried }, at, why }) => ({
        kind,
        stream,
        group,
        at: Math.round(at),
        ...(tried === undefined ? {} : { tried }),
        why: why ?? 'It was given up.',
      }));
    },
  };
}

/** An entry of a PostgreSQL index holds 2,704 bytes; names of streams may be longer in UTF-8. */
const MAX_KEY_BYTES = 1_000;

/** Of the job that offers a stream: there is one at a time. */
const jobKey = (offer: Pick<WorkOffer, 'kind' | 'stream'>): string => shortened(offerKey(offer));

const groupIdOf = (group: string): string => shortened(group);

const shortened = (key: string): string =>
  Buffer.byteLength(key) <= MAX_KEY_BYTES ? key : createHash('sha256').update(key).digest('hex');
