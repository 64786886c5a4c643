import type { JobWithMetadata, PgBoss } from 'pg-boss';
import type { TakenOffer, WhyNot, WorkOffer } from '../work-queue.ts';
import { ASIDE, type JobData, type LateJob, WORK } from './boss-tables.ts';
import { groupIdOf, jobKey } from './job-key.ts';

type JobAttempt = Pick<LateJob, 'id' | 'retryCount'>;

/** Those of the groups in `last` only where the others do not come to so many. */
export async function takeJobs(
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
