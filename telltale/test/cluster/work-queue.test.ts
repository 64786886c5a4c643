import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createBossQueue } from '../../src/cluster/pg-boss-queue.ts';
import type { WorkQueue } from '../../src/cluster/work-queue.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import { type TestDatabase, testDatabase } from '../servers/shared-postgres.ts';
import { eventually } from '../store/eventually.ts';
import { createMemoryQueue } from './memory-queue.ts';
import { openPoolDatabase } from './pool-database.ts';
import { STAGE_RETRIES, workQueueContract } from './work-queue-contract.ts';

const until = (held: () => boolean) => eventually(() => expect(held()).toBe(true));

describe('the queue in memory', () => {
  workQueueContract(async () => {
    const clock = createSimulatedClock();
    let queue = createMemoryQueue(clock, { retries: STAGE_RETRIES });
    const face: WorkQueue = {
      offer: (...args) => queue.offer(...args),
      take: (...args) => queue.take(...args),
      onOffered: (...args) => queue.onOffered(...args),
      turn: (...args) => queue.turn(...args),
      tend: () => queue.tend(),
      depth: () => queue.depth(),
      laidAside: (...args) => queue.laidAside(...args),
      quarantine: (...args) => queue.quarantine(...args),
      forget: (...args) => queue.forget(...args),
      close: () => queue.close(),
    };
    return {
      one: face,
      other: face,
      pass: clock.advance,
      until,
      async clear() {
        queue = createMemoryQueue(clock, { retries: STAGE_RETRIES });
      },
      close: () => queue.close(),
    };
  });
});

describe('the queue on PostgreSQL', () => {
  let database: TestDatabase;
  const errors: unknown[] = [];
  const open = (schema = 'telltale', retries = STAGE_RETRIES) => {
    const shared = openPoolDatabase(database.url);
    const queue = createBossQueue({
      database: shared,
      schema,
      retries,
      onError: (thrown) => errors.push(thrown),
    });
    return {
      shared,
      queue,
      end: async () => {
        await (await queue).close();
        await shared.end();
      },
    };
  };
  beforeAll(async () => {
    database = await testDatabase();
  });
  afterAll(async () => {
    await database.remove();
  });

  workQueueContract(async () => {
    // Ten processes that start at once make one queue.
    const all = Array.from({ length: 10 }, () => open());
    await Promise.all(all.map(({ queue }) => queue));
    const [first, second, ...others] = all;
    await Promise.all(others.map(({ end }) => end()));
    if (first === undefined || second === undefined) throw new Error('unreachable');
    const { execute } = first.shared;
    return {
      one: await first.queue,
      other: await second.queue,
      async pass(ms) {
        await execute(
          `UPDATE telltale_jobs.job SET created_on = created_on - $1 * interval '1 ms',
            start_after = start_after - $1 * interval '1 ms', started_on = started_on - $1 * interval '1 ms'`,
          [ms],
        );
        await execute(`UPDATE telltale_jobs.turns SET taken_at = taken_at - $1 * interval '1 ms'`, [ms]);
      },
      until,
      async clear() {
        await execute('DELETE FROM telltale_jobs.job');
      },
      async close() {
        await Promise.all([first.end(), second.end()]);
        expect(errors).toEqual([]);
      },
    };
  });

  it('lives in a schema of its own, so that two fleets in one database do not meet', async () => {
    const [one, blue] = [open('red'), open('Blue')];
    await (await one.queue).offer([{ kind: 'run', stream: 'a', group: 'a' }]);
    expect(await (await blue.queue).take(1)).toEqual([]);
    expect(await (await one.queue).take(1)).toHaveLength(1);
    await Promise.all([one.end(), blue.end()]);
  });

  it('that cannot be reached says so, and why', async () => {
    const { shared, queue } = open('gone');
    await shared.end();
    await expect(queue).rejects.toMatchObject({
      code: 'work_queue_failed',
      message: expect.stringContaining('gone_jobs'),
    });
  });
});
