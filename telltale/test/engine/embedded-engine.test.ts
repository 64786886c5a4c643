import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createDueHeap, createEmbeddedEngine } from '../../src/engine/embedded-engine.ts';
import type { WorkEnd } from '../../src/engine/engine.ts';
import { createFairQueue } from '../../src/engine/slots.ts';
import { RuntimeError } from '../../src/lib/errors.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import type { Store } from '../../src/store/store.ts';
import { eventually } from '../store/eventually.ts';
import { openInlineStore } from '../store/open-inline-store.ts';
import { temporaryFolder } from '../store/temporary-folder.ts';
import { type EngineStage, engineContract } from './engine-contract.ts';

function openStage(store: Store, clock = createSimulatedClock(), atOnce?: number) {
  const errors: unknown[] = [];
  const engine = createEmbeddedEngine({
    store,
    clock,
    onError: (thrown) => errors.push(thrown),
    ...(atOnce === undefined ? {} : { atOnce }),
  });
  return {
    engine,
    store,
    clock,
    errors,
    pass: (ms: number) => clock.advance(ms),
    until: (held: () => boolean) => eventually(() => expect(held()).toBe(true)),
    async close() {
      await engine.close();
      await store.close();
    },
  } satisfies EngineStage;
}

const openMemory = (startMs?: number, atOnce?: number) => {
  const clock = createSimulatedClock(startMs);
  return openStage(createMemoryStore({ clock }), clock, atOnce);
};

describe('the embedded engine, on a store in memory', () => {
  engineContract(async () => openMemory());
});

describe('the embedded engine, on a SQLite file', () => {
  engineContract(async () => {
    const folder = await temporaryFolder();
    const stage = openStage(openInlineStore({ path: folder.path('store.db') }));
    return {
      ...stage,
      async close() {
        await stage.close();
        await folder.remove();
      },
    };
  });
});

describe('the embedded engine', () => {
  it('works on so many streams at once, and on the others in the order in which they were placed', async () => {
    const { engine, close } = openMemory(undefined, 3);
    const begun: string[] = [];
    const ends: ((end: WorkEnd) => void)[] = [];
    let most = 0;
    let now = 0;
    engine.onWork('run', async (stream) => {
      begun.push(stream);
      most = Math.max(most, ++now);
      await new Promise<WorkEnd>((resolve) => ends.push(resolve));
      now -= 1;
      return { kind: 'done' };
    });
    const streams = Array.from({ length: 10 }, (_, n) => `run_${n}`);
    for (const stream of streams) engine.dispatch('run', stream);
    await Promise.resolve();
    expect(begun).toEqual(streams.slice(0, 3));
    expect(engine.busy()).toHaveLength(10);
    while (engine.busy().length > 0) {
      ends.shift()?.({ kind: 'done' });
      for (let n = 0; n < 10; n += 1) await Promise.resolve();
    }
    expect(begun).toEqual(streams);
    expect(most).toBe(3);
    await close();
  });

  it('does not let a stream wait for its turn that one in hand has called', async () => {
    const { engine, close } = openMemory(undefined, 1);
    const order: string[] = [];
    engine.onWork('run', async (stream) => {
      order.push(stream);
      if (stream === 'caller') {
        engine.dispatch('run', 'called');
        engine.dispatch('run', 'called', 'called');
      }
      while (stream === 'caller' && !order.includes('called')) await Promise.resolve();
      return { kind: 'done' };
    });
    engine.dispatch('run', 'caller');
    engine.dispatch('run', 'other');
    await engine.idle();
    expect(order).toEqual(['caller', 'called', 'other']);
    await close();
  });

  it('fires a schedule once for a time that was slept through, and then at the next', async () => {
    const { engine, clock, close } = openMemory();
    const from = clock.now();
    const fired: number[] = [];
    engine.schedule('s', { everyMs: 1_000, from }, (due) => {
      if (fired.length === 0) skipped = 3_500;
      fired.push(due - from);
    });
    let skipped = 0;
    const now = clock.now;
    clock.now = () => now() + skipped;
    await clock.advance(3_000);
    // 2,000 is late; 3,000 to 5,000 are gone.
    expect(fired).toEqual([1_000, 2_000, 6_000]);
    await close();
  });

  it('finds what came due while the wall was set forward within seconds', async () => {
    const { engine, clock, close } = openMemory();
    const begun: number[] = [];
    engine.onWork('run', async () => {
      begun.push(clock.monotonic());
      return { kind: 'done' };
    });
    engine.wakeAt('run', 'a', clock.now() + 86_400_000);
    const now = clock.now;
    clock.now = () => now() + 86_400_000;
    await clock.advance(3_600_000);
    expect(begun).toEqual([5_000]);
    await close();
  });

  it('keeps cron times of a time zone through the change of its clocks', async () => {
    const { engine, clock, errors, close } = openMemory(Date.UTC(2026, 2, 27, 12));
    const fired: string[] = [];
    engine.schedule('daily', { cron: '30 8 * * *', timezone: 'Europe/Berlin' }, (due) =>
      fired.push(new Date(due).toISOString()),
    );
    await eventually(() => expect(clock.pending).toBe(1));
    await clock.advance(4 * 86_400_000);
    expect(fired).toEqual([
      '2026-03-28T07:30:00.000Z',
      '2026-03-29T06:30:00.000Z',
      '2026-03-30T06:30:00.000Z',
      '2026-03-31T06:30:00.000Z',
    ]);
    expect(errors).toEqual([]);
    await close();
  });

  it('tells of a cron expression that cannot be kept, and forgets one that was ended before it began', async () => {
    const { engine, clock, errors, close } = openMemory();
    engine.schedule('gone', { cron: '* * * * *', timezone: 'UTC' }, () => expect.unreachable())();
    engine.schedule('bad', { cron: '30 8 * * *', timezone: 'Mars/Olympus' }, () => expect.unreachable());
    await eventually(() =>
      expect(errors).toMatchObject([
        {
          code: 'schedule_malformed',
          message: 'The schedule "bad" cannot be kept: "30 8 * * *" in Mars/Olympus.',
        },
      ]),
    );
    await clock.advance(3_600_000);
    expect(clock.pending).toBe(0);
    await close();
  });

  it('gives up on a stream whose errors do not pass, until it is placed again', async () => {
    const { engine, clock, errors, close } = openMemory();
    let tries = 0;
    engine.onWork('run', async () => {
      tries += 1;
      throw new RuntimeError('held', 'Somebody has it.', { retryable: true });
    });
    engine.dispatch('run', 'a');
    await clock.advance(0);
    await clock.advance(600_000);
    expect(tries).toBe(9);
    expect(errors).toHaveLength(9);
    expect(engine.nextDue()).toBeUndefined();
    engine.dispatch('run', 'a');
    await clock.advance(0);
    expect(tries).toBe(10);
    await close();
  });
});

describe('the heap of times', () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant('set' as const), item: fc.nat(8), due: fc.nat(20) }),
    fc.record({ do: fc.constant('delete' as const), item: fc.nat(8) }),
    fc.record({ do: fc.constant('take' as const), now: fc.nat(20) }),
  );

  it('gives what a list that is searched anew each time would give', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const heap = createDueHeap<number>();
        const plain = new Map<number, number>();
        const least = () => (plain.size === 0 ? undefined : Math.min(...plain.values()));
        for (const each of steps) {
          if (each.do === 'set') {
            heap.set(each.item, each.due);
            plain.set(each.item, each.due);
          } else if (each.do === 'delete') {
            heap.delete(each.item);
            plain.delete(each.item);
          } else {
            const taken = heap.take(each.now);
            const first = least();
            expect(taken?.due).toBe(first !== undefined && first <= each.now ? first : undefined);
            if (taken !== undefined) {
              expect(plain.get(taken.item)).toBe(taken.due);
              plain.delete(taken.item);
            }
          }
          expect(heap.next()).toBe(least());
          for (let item = 0; item <= 8; item += 1) expect(heap.dueOf(item)).toBe(plain.get(item));
        }
      }),
    );
  });
});

describe('a fair queue', () => {
  const groups = ['a', 'b', 'c'];
  it('takes turns between groups, each in its own order, whatever comes and goes', () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant('push' as const), group: fc.constantFrom(...groups) }),
      fc.record({ do: fc.constant('shift' as const) }),
      fc.record({ do: fc.constant('delete' as const), nth: fc.nat(30) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const queue = createFairQueue<string>();
        // The plain model: lanes in the order of their turns.
        let lanes: { readonly group: string; readonly items: string[] }[] = [];
        let made = 0;
        for (const each of steps) {
          if (each.do === 'push') {
            const item = `${each.group}${++made}`;
            queue.push(item, each.group);
            queue.push(item, 'another'); // it is in it already
            const lane = lanes.find(({ group }) => group === each.group);
            if (lane === undefined) lanes.push({ group: each.group, items: [item] });
            else lane.items.push(item);
          } else if (each.do === 'shift') {
            const [first, ...rest] = lanes;
            expect(queue.shift()).toBe(first?.items.shift());
            if (first !== undefined) lanes = [...rest, first];
          } else {
            const all = lanes.flatMap(({ items }) => items);
            const item = all[each.nth] ?? 'nobody';
            expect(queue.delete(item)).toBe(all.includes(item));
            for (const { items } of lanes) if (items.includes(item)) items.splice(items.indexOf(item), 1);
          }
          lanes = lanes.filter(({ items }) => items.length > 0);
          expect([...queue].sort()).toEqual(lanes.flatMap(({ items }) => items).sort());
          expect(queue.size).toBe(lanes.reduce((sum, { items }) => sum + items.length, 0));
        }
      }),
    );
  });
});
