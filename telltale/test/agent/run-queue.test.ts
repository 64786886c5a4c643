import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ConcurrencyLimit } from '../../src/agent/triggers/concurrency-limit.ts';
import { createRunQueue, type RunQueue } from '../../src/agent/triggers/run-queue.ts';
import { sleep } from '../../src/lib/clock.ts';
import { toRuntimeError } from '../../src/lib/errors.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import type { StreamInfo } from '../../src/store/store.ts';
import { moreRuns } from '../more-runs.ts';

describe('turns', () => {
  const LIMITS = [
    { max: 1, when_busy: 'queue' },
    { max: 3, when_busy: 'queue' },
    { max: 2, when_busy: 'skip' },
    { max: 1, when_busy: 'replace' },
    { max: 2, when_busy: 'replace' },
  ] as const;

  /** Runs that come for their turn, from several processes with slow stores of which any may miss a word. */
  async function play(limit: ConcurrencyLimit, seed: readonly number[]) {
    const clock = createSimulatedClock();
    const { tables } = createMemoryStore({ clock });
    const runs = new Map<string, { status: string; isIn: boolean }>();
    const gate = { name: 'a:w#0', workflow: 'w', limit };
    let at = 0;
    const next = (below: number): number => (seed[at++ % seed.length] as number) % below;
    const late = async <T>(work: () => Promise<T>): Promise<T> => {
      await sleep(clock, next(5));
      return work();
    };
    let most = 0;
    const end = (run: string, status: string) => {
      const known = runs.get(run);
      if (known?.status !== 'running') return;
      Object.assign(known, { status, isIn: false });
    };
    const go = async (turns: RunQueue, run: string): Promise<void> => {
      const known = runs.get(run);
      if (
        known?.status !== 'running' ||
        known.isIn ||
        (await turns.enter(gate, run, undefined)).kind !== 'in'
      )
        return;
      if (known.status !== 'running') return;
      known.isIn = true;
      most = Math.max(most, [...runs.values()].filter(({ isIn }) => isIn).length);
      clock.after(next(40) + 1, () => {
        end(run, 'completed');
        if (next(4) > 0) void turns.leave(gate, run); // else its process has died
      });
    };
    const processes = [0, 1, 2].map((): RunQueue => {
      const turns = createRunQueue({
        clock,
        tables: {
          ...tables,
          get: (...asked) => late(() => tables.get(...asked)),
          exchange: (...asked) => late(() => tables.exchange(...asked)),
        },
        info: (run) =>
          late(async () => {
            const found = runs.get(run);
            return found && ({ stream: run, status: found.status, head: 1 } as StreamInfo);
          }),
        deadlock: async () => undefined,
        cancel: async (run) => void clock.after(5, () => end(run, 'cancelled')),
        wake: async (run) => {
          if (next(3) > 0) await go(turns, run); // else the word is lost
        },
        onError: (thrown) => {
          throw thrown;
        },
      });
      return turns;
    });
    const refused: string[] = [];
    for (let n = 0; n < 12; n++) {
      const turns = processes[next(3)] as RunQueue;
      const run = `run_${n}`;
      const begin = async () => {
        try {
          await turns.reserve(gate, run, undefined);
        } catch (thrown) {
          refused.push(toRuntimeError(thrown).code);
          return;
        }
        runs.set(run, { status: 'running', isIn: false });
        await go(turns, run);
      };
      void begin();
      await clock.advance(next(20));
    }
    for (let looks = 0; looks < 20; looks++) {
      await clock.advance(60_000);
      for (const run of runs.keys()) void go(processes[looks % 3] as RunQueue, run);
    }
    await clock.advance(60_000);
    return { most, refused, left: [...runs.values()].filter(({ status }) => status === 'running').length };
  }

  it.each(LIMITS)('are never more than $max at a time, and all come ($when_busy)', async (limit) => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(1_000), { minLength: 40, maxLength: 80 }), async (seed) => {
        const { most, refused, left } = await play(limit, seed);
        expect(most).toBeLessThanOrEqual(limit.max);
        expect(left).toBe(0);
        if (limit.when_busy !== 'skip') expect(refused).toEqual([]);
      }),
      { numRuns: moreRuns(40) },
    );
  });

  it('are waited for where nobody can say whether it is for ever', async () => {
    const clock = createSimulatedClock();
    const { tables } = createMemoryStore({ clock });
    const told: unknown[] = [];
    const turns = createRunQueue({
      clock,
      tables,
      cancel: async () => {},
      wake: async () => {},
      info: async (stream) => ({ stream, status: 'running', head: 1 }) as StreamInfo,
      deadlock: () => Promise.reject(new Error('The log cannot be read.')),
      onError: (thrown) => void told.push(thrown),
    });
    const gate = { name: 'a:w#0', workflow: 'w', limit: { max: 1, when_busy: 'queue' } } as const;
    expect(await turns.enter(gate, 'run_1', 'ses_1')).toEqual({ kind: 'in' });
    expect(await turns.enter(gate, 'run_2', 'ses_2')).toEqual({ kind: 'waits', behind: 'run_1' });
    expect(told).toHaveLength(1);
  });
});
