import type { JobWithMetadata, PgBoss } from 'pg-boss';
import type { TakenOffer, WhyNot } from '../work-queue.ts';
import { type JobData, type LateJob, WORK } from './boss-tables.ts';
import { groupIdOf } from './job-key.ts';

type JobAttempt = Pick<LateJob, 'id' | 'retryCount'>;

/** Those of the groups in `last` only where the others do not come to so many. */
export async function takeJobs(
  boss: PgBoss,
  retries: number,
  most: number,
  last: ReadonlySet<string> = new Set(),
): Promise<readonly TakenOffer[]> {
  const fetch = (batchSize: number, ignoreGroups: string[]) =>
    boss.fetch<JobData>(WORK, { batchSize, includeMetadata: true, ignoreGroups });
  if (most < 1) return [];
  const first = await fetch(most, [...last].map(groupIdOf));
  const rest = last.size === 0 || first.length === most ? [] : await fetch(most - first.length, []);
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
      };
    },
  );
}

const inOrder = (one: JobWithMetadata<JobData>, other: JobWithMetadata<JobData>) =>
  other.priority - one.priority || one.createdOn.getTime() - other.createdOn.getTime();

/** Gives those that were still at this try; the others have been given to somebody else, or are gone. */
export async function failJobs(
  boss: PgBoss,
  jobs: readonly JobAttempt[],
  why: WhyNot,
): Promise<ReadonlySet<string>> {
  const attempts = jobs.map(({ id, retryCount }) => ({ id, retryCount }));
  // It answers with more than its type says.
  const answer: { readonly settled?: readonly string[] } = await boss.fail(WORK, attempts, outputOf(why));
  return new Set(answer.settled);
}

/** What is kept of it, and shown. */
export const outputOf = ({ code, message }: WhyNot) => ({ why: `${message} [${code}]` });
