import type { JobInsert } from 'pg-boss';
import type { SharedDatabase } from '../../../store/shared-store.ts';
import { offerRounds } from '../offer-rounds.ts';
import {
  ASIDE_MS,
  type LaidAside,
  LONGEST_PAUSE_MS,
  MAX_OFFERS,
  NOT_SETTLED,
  RETRIES,
  TAKEN_MS,
  type WhyNot,
  type WorkOffer,
  type WorkQueue,
} from '../work-queue.ts';
import { bossDatabase } from './boss-database.ts';
import { queueFailed, queueWarned } from './boss-errors.ts';
import { failJobs, outputOf, takeJobs } from './boss-jobs.ts';
import { ASIDE, createBossTables, type JobData, WORK } from './boss-tables.ts';
import { groupIdOf, jobKey } from './job-key.ts';

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

  const layAside = async (offers: readonly WorkOffer[], why: WhyNot): Promise<readonly LaidAside[]> => {
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
        .map(({ data, at }): LaidAside => ({ ...data, at, why: outputOf(NOT_SETTLED).why }));
    },
    depth: () => tables.depth().catch(failed),
    laidAside: (limit) => tables.laidAside(limit).catch(failed),
    layAside: (offers, why) =>
      offers.length === 0 ? Promise.resolve([]) : layAside(offers, why).catch(failed),
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
