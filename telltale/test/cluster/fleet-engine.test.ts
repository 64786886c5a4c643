import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createFleetEngine } from '../../src/cluster/fleet-engine.ts';
import { createBossQueue } from '../../src/cluster/pg-boss-queue.ts';
import type { WorkQueue } from '../../src/cluster/work-queue.ts';
import { RuntimeError } from '../../src/lib/errors.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import { type EngineStage, engineContract } from '../engine/engine-contract.ts';
import { type TestDatabase, testDatabase } from '../servers/shared-postgres.ts';
import { eventually } from '../store/eventually.ts';
import { FLEET_RETRIES, type FleetStage, fleetContract } from './fleet-contract.ts';
import { createMemoryFleet } from './memory-fleet.ts';
import { createMemoryQueue } from './memory-queue.ts';
import { openPoolDatabase, type PoolDatabase } from './pool-database.ts';

/** What there is no room for goes round by the queue. */
const MOMENT_MS = 25;

/** One process alone, on the stage of a fleet. */
async function alone(
  { clock, openQueue, pass: passTime, close }: FleetStage,
  many?: number,
): Promise<EngineStage> {
  const { store, shared } = createMemoryFleet(clock, Number.POSITIVE_INFINITY).open(1);
  const errors: unknown[] = [];
  const engine = createFleetEngine({
    store,
    shared,
    clock,
    queue: await openQueue(),
    capacity: 16,
    random: () => 0,
    onError: (thrown) => errors.push(thrown),
  });
  engine.start();
  const pass = (ms: number) => passTime(ms === 0 ? MOMENT_MS : ms);
  return {
    engine,
    store,
    clock,
    errors,
    pass,
    ...(many === undefined ? {} : { many }),
    async until(held) {
      for (let n = 0; n < 100 && !held(); n += 1) await clock.advance(0);
      await eventually(async () => {
        if (!held()) await pass(0);
        expect(held()).toBe(true);
      });
    },
    async close() {
      await engine.close();
      await store.close();
      await close();
    },
  };
}

describe('the fleet engine, on a queue in memory', () => {
  const open = async (): Promise<FleetStage> => {
    const clock = createSimulatedClock();
    const queue = createMemoryQueue(clock, { retries: FLEET_RETRIES });
    return {
      clock,
      openQueue: async () => queue,
      pass: clock.advance,
      close: queue.close,
    };
  };
  engineContract(async () => alone(await open()));
  fleetContract(open);

  it('tries once a second what the database does not answer, tells of it once, and goes on when it does', async () => {
    const clock = createSimulatedClock();
    const inner = createMemoryQueue(clock);
    const { store, shared } = createMemoryFleet(clock, Number.POSITIVE_INFINITY).open(1);
    let isAway = true;
    let tries = 0;
    const errors: unknown[] = [];
    const gone = async () => {
      tries += 1;
      throw new RuntimeError('store_away', 'No answer.', { retryable: true });
    };
    const queue: WorkQueue = {
      ...inner,
      take: (...args) => (isAway ? gone() : inner.take(...args)),
      turn: (...args) => (isAway ? gone() : inner.turn(...args)),
      offer: (...args) => (isAway ? gone() : inner.offer(...args)),
    };
    const begun: string[] = [];
    let wake: () => void = () => undefined;
    const engine = createFleetEngine({
      store,
      queue,
      clock,
      capacity: 2,
      random: () => 0,
      shared: {
        ...shared,
        onOrphans(moved) {
          wake = moved;
          return () => undefined;
        },
      },
      onError: (thrown) => errors.push(thrown),
    });
    engine.onWork('run', async (stream) => {
      begun.push(stream);
      return { kind: 'waiting' };
    });
    engine.start();
    const writer = await store.create('a', { kind: 'run', name: 'w', status: 'running', title: '' });
    await writer.release();
    for (let n = 0; n < 500; n += 1) {
      wake();
      await clock.advance(20);
    }
    expect(tries).toBeGreaterThan(15);
    expect(tries).toBeLessThanOrEqual(22);
    expect(errors).toHaveLength(2);
    isAway = false;
    await clock.advance(3_000);
    expect(begun).toContain('a');
    await engine.close();
  });
});

describe('the fleet engine, on PostgreSQL', () => {
  let database: TestDatabase;
  let shared: PoolDatabase;
  const errors: unknown[] = [];
  const queues: WorkQueue[] = [];
  beforeAll(async () => {
    database = await testDatabase();
    shared = openPoolDatabase(database.url);
  });
  afterAll(async () => {
    for (const queue of queues) await queue.close();
    await shared.end();
    await database.remove();
    expect(errors).toEqual([]);
  });
  const queueAt = async (n: number): Promise<WorkQueue> => {
    queues[n] ??= await createBossQueue({
      database: shared,
      schema: 'telltale',
      retries: FLEET_RETRIES,
      onError: (thrown) => errors.push(thrown),
    });
    return queues[n];
  };

  /** Time stands still for the engines, and is moved for the database: between two moments all that is asked is answered. */
  const open = async (): Promise<FleetStage> => {
    const clock = createSimulatedClock();
    let opened = 0;
    const move = async (ms: number) => {
      await shared.execute(`UPDATE telltale_jobs.job SET created_on = created_on - interval '${ms} ms',
          start_after = start_after - interval '${ms} ms', started_on = started_on - interval '${ms} ms';
        UPDATE telltale_jobs.turns SET taken_at = taken_at - interval '${ms} ms'`);
      await clock.advance(ms);
      await shared.quiet();
    };
    return {
      clock,
      openQueue: async () => ({ ...(await queueAt(opened++)), close: async () => undefined }),
      async pass(ms) {
        await shared.quiet();
        const step = Math.max(250, ms / 120);
        for (let left = ms; left > 0; left -= step) await move(Math.min(left, step));
        await move(0);
      },
      async close() {
        await shared.quiet();
        await shared.execute('DELETE FROM telltale_jobs.job');
      },
    };
  };
  engineContract(async () => alone(await open(), 60));
  fleetContract(open);
});
