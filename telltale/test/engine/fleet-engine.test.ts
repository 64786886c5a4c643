import { describe, expect } from 'vitest';
import { createFleetEngine } from '../../src/engine/fleet/create-fleet-engine.ts';
import { createMemoryQueue } from '../../src/engine/fleet/memory-queue.ts';
import { createSimulatedClock } from '../../src/kernel/simulated-clock.ts';
import { eventually } from '../store/eventually.ts';
import { type EngineStage, engineContract } from './engine-contract.ts';
import { createMemoryFleet } from './memory-fleet.ts';

describe('the fleet engine, on a queue in memory', () => {
  engineContract(async (): Promise<EngineStage> => {
    const clock = createSimulatedClock();
    const fleet = createMemoryFleet(clock, Number.POSITIVE_INFINITY);
    const { store, shared } = fleet.open(1);
    const queue = createMemoryQueue(clock);
    const errors: unknown[] = [];
    const engine = createFleetEngine({
      ...{ store, shared, queue, clock, capacity: 16 },
      random: () => 0,
      onError: (thrown) => errors.push(thrown),
    });
    engine.start();
    return {
      ...{ engine, store, clock, errors },
      pass: clock.advance,
      until: (held) => eventually(() => expect(held()).toBe(true)),
      async close() {
        await engine.close();
        await store.close();
      },
    };
  });
});
