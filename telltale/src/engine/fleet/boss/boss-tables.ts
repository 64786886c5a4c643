import type { SharedDatabase } from '../../../store/shared-store.ts';
import type { LaidAside, QueueDepth, WorkOffer } from '../work-queue.ts';
import { groupIdOf, jobKey } from './job-key.ts';

export const WORK = 'work';
export const ASIDE = 'laid_aside';

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
export interface OfferStanding {
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
  standing(offers: readonly WorkOffer[]): Promise<OfferStanding>;
  /** The rounds of those that wait, by group; see `offerRounds`. */
  rounds(
    groups: readonly string[],
  ): Promise<{ readonly current: number; readonly last: Map<string, number> }>;
  late(afterMs: number, limit: number): Promise<readonly LateJob[]>;
  depth(): Promise<QueueDepth>;
  laidAside(limit: number): Promise<readonly LaidAside[]>;
}

/** `schema` is quoted. */
export function createBossTables({ execute }: Pick<SharedDatabase, 'execute'>, schema: string): BossTables {
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
