import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { OutsideOutcome, RunResult, WorkflowRun } from '../../src/agent/runs/run-types.ts';
import {
  type ConcurrencyLimit,
  type ConcurrencyLimiter,
  createConcurrencyLimiter,
  readLimitRow,
} from '../../src/agent/triggers/concurrency-limit.ts';
import { createTriggerPacer, type TriggerPacer } from '../../src/agent/triggers/listen.ts';
import { sleep } from '../../src/lib/clock.ts';
import { RuntimeError } from '../../src/lib/errors.ts';
import type { JsonObject } from '../../src/lib/json.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import { createMemoryStore } from '../../src/store/memory/memory-store.ts';
import type { StreamInfo, Tables } from '../../src/store/store.ts';
import type { OutsideTrigger } from '../../src/triggers/outside-triggers.ts';
import { moreRuns } from '../more-runs.ts';

/** A store, the runs in it, and processes that come to the gate of one trigger. Runs go on whoever dies. */
function createWorld(runMs: (run: string) => number, latency: () => number = () => 1) {
  const clock = createSimulatedClock();
  const { tables } = createMemoryStore({ clock });
  const runs = new Map<string, { status: string; readonly seen: JsonObject; end(status: string): void }>();
  const order: string[] = [];
  const errors: unknown[] = [];
  let most = 0;
  const under = () => [...runs.values()].filter(({ status }) => status === 'running').length;
  const make = (run: string, seen: JsonObject, over: (status: string) => void) => {
    const created = {
      status: 'running',
      seen,
      end(status: string) {
        if (created.status !== 'running') return;
        created.status = status;
        over(status);
      },
    };
    runs.set(run, created);
    order.push(run);
    most = Math.max(most, under());
    const ms = runMs(run);
    if (ms < Number.POSITIVE_INFINITY) clock.after(ms, () => created.end('completed'));
  };
  const info = async (run: string) => {
    const found = runs.get(run);
    return found === undefined
      ? undefined
      : ({ stream: run, status: found.status, head: 1 } as unknown as StreamInfo);
  };

  /** What one process has: nothing it asks for is answered once it is dead. */
  const open = () => {
    let isDead = false;
    let isDeadAtNextStart = false;
    let failing = 0;
    const late = async <T>(work: () => Promise<T>): Promise<T> => {
      await sleep(clock, latency());
      if (isDead) return new Promise(() => undefined);
      const done = await work();
      await sleep(clock, latency());
      return isDead ? new Promise(() => undefined) : done;
    };
    const lateTables = {
      get: (...asked: Parameters<Tables['get']>) => late(() => tables.get(...asked)),
      delete: (...asked: Parameters<Tables['delete']>) => late(() => tables.delete(...asked)),
      exchange: (...asked: Parameters<Tables['exchange']>) => late(() => tables.exchange(...asked)),
    } as Tables;
    const start = (run: string, seen: JsonObject) => {
      let end: (result: RunResult) => void = () => undefined;
      const result = new Promise<RunResult>((resolve) => {
        end = resolve;
      });
      const created = late(async () => {
        if (failing-- > 0) throw new RuntimeError('store_failed', 'Full.', { retryable: true });
        if (runs.has(run)) throw new RuntimeError('stream_exists', 'There.');
        make(run, seen, (status) => {
          if (!isDead) end({ run, status: status as 'completed' });
        });
      });
      return { run: { id: run, result } as WorkflowRun, created };
    };
    return {
      deps: {
        clock,
        tables: lateTables,
        start,
        info: (run: string) => late(() => info(run)),
        cancel: (run: string) =>
          late(async () => {
            const found = runs.get(run);
            if (found === undefined) throw new RuntimeError('stream_unknown', 'None.');
            clock.after(10, () => found.end('cancelled'));
          }),
        crashPoint() {
          if (isDeadAtNextStart) isDead = true;
        },
        onError: (thrown: unknown) => errors.push(thrown),
      },
      dieBetween() {
        isDeadAtNextStart = true;
      },
      die() {
        isDead = true;
      },
      failStarts(count: number) {
        failing = count;
      },
    };
  };
  const enter = (
    gate: ConcurrencyLimiter | TriggerPacer,
    run: string,
    overs: unknown[] = [],
  ): Promise<OutsideOutcome> =>
    gate.enter({ run, seen: { of: run }, over: (thrown) => overs.push(thrown ?? 'over') });
  return { clock, tables, runs, order, errors, open, enter, most: () => most, under };
}

const FOREVER = () => Number.POSITIVE_INFINITY;
const gateOf = (
  { deps }: { readonly deps: Parameters<typeof createConcurrencyLimiter>[0] },
  limit: ConcurrencyLimit,
) => createConcurrencyLimiter(deps, 'agent:w#0', limit);

describe('the gate of a trigger', () => {
  it('lets in as many as it may, over two processes, and leaves the others out', async () => {
    const world = createWorld(FOREVER);
    const limit = { max: 2, when_busy: 'skip' } as const;
    const gates = [gateOf(world.open(), limit), gateOf(world.open(), limit)] as [
      ConcurrencyLimiter,
      ConcurrencyLimiter,
    ];
    const entering = [0, 1, 2, 3].map((n) => world.enter(gates[n % 2] as ConcurrencyLimiter, `run_${n}`));
    await world.clock.advance(200);
    const kinds = (await Promise.all(entering)).map(({ kind }) => kind).sort();
    expect(kinds).toEqual(['started', 'started', 'suppressed', 'suppressed']);
    expect(world.under()).toBe(2);
    world.runs.get(world.order[0] ?? '')?.end('failed');
    const next = world.enter(gates[1], 'run_4');
    await world.clock.advance(200);
    expect(await next).toEqual({ kind: 'started', run: 'run_4' });
  });

  it('remembers who is under way when all processes have died', async () => {
    const world = createWorld(FOREVER);
    const limit = { max: 1, when_busy: 'skip' } as const;
    const first = world.open();
    void world.enter(gateOf(first, limit), 'run_1');
    await world.clock.advance(100);
    first.die();
    const gate = gateOf(world.open(), limit);
    const busy = world.enter(gate, 'run_2');
    await world.clock.advance(60_000);
    expect(await busy).toEqual({ kind: 'suppressed', reason: 'busy' });
    world.runs.get('run_1')?.end('completed');
    const free = world.enter(gate, 'run_3');
    await world.clock.advance(100);
    expect(await free).toMatchObject({ kind: 'started' });
  });

  it('keeps those that wait in the store, in their order, with what they are started with', async () => {
    const world = createWorld(() => 1_000);
    const limit = { max: 1, when_busy: 'queue' } as const;
    const first = world.open();
    const gate = gateOf(first, limit);
    const overs: unknown[] = [];
    for (const run of ['run_1', 'run_2', 'run_3']) {
      void world.enter(gate, run, overs);
      await world.clock.advance(50);
    }
    expect(overs).toEqual(['over', 'over', 'over']);
    first.die();
    gateOf(world.open(), limit);
    await world.clock.advance(20_000);
    expect(world.order).toEqual(['run_1', 'run_2', 'run_3']);
    expect(world.runs.get('run_3')?.seen).toEqual({ of: 'run_3' });
    expect(world.most()).toBe(1);
    expect(await world.tables.keys('gates_seen')).toEqual([]);
  });

  it('goes on at once where the run before was of this process, and after a moment where it was of another', async () => {
    const world = createWorld(FOREVER);
    const limit = { max: 1, when_busy: 'queue' } as const;
    const [here, there] = [gateOf(world.open(), limit), gateOf(world.open(), limit)] as [
      ConcurrencyLimiter,
      ConcurrencyLimiter,
    ];
    void world.enter(here, 'run_1');
    await world.clock.advance(50);
    void world.enter(here, 'run_2');
    void world.enter(there, 'run_3');
    await world.clock.advance(50);
    world.runs.get('run_1')?.end('completed');
    await world.clock.advance(50);
    expect(world.order).toEqual(['run_1', 'run_2']);
    world.runs.get('run_2')?.end('completed');
    await world.clock.advance(2_100);
    expect(world.order).toHaveLength(3);
  });

  it('starts a run that was let in by a process which died before it started it, once, and counts it meanwhile', async () => {
    const world = createWorld(FOREVER);
    const limit = { max: 1, when_busy: 'queue' } as const;
    const first = world.open();
    first.dieBetween();
    void world.enter(gateOf(first, limit), 'run_1');
    await world.clock.advance(100);
    expect(world.order).toEqual([]);
    const gate = gateOf(world.open(), limit);
    const second = world.enter(gate, 'run_2');
    await world.clock.advance(5_000);
    expect(await second).toEqual({ kind: 'waiting' });
    expect(world.order).toEqual([]);
    await world.clock.advance(40_000);
    expect(world.order).toEqual(['run_1']);
  });

  it('lets in the same run again that its sender sends again', async () => {
    const world = createWorld(FOREVER);
    const limit = { max: 1, when_busy: 'skip' } as const;
    const first = world.open();
    first.dieBetween();
    void world.enter(gateOf(first, limit), 'run_1');
    await world.clock.advance(100);
    const again = world.enter(gateOf(world.open(), limit), 'run_1');
    await world.clock.advance(100);
    expect(await again).toEqual({ kind: 'started', run: 'run_1' });
    expect(world.order).toEqual(['run_1']);
  });

  it('replaces the oldest by the newest: the others that waited are dropped', async () => {
    const world = createWorld(FOREVER);
    const limit = { max: 1, when_busy: 'replace' } as const;
    const [here, there] = [gateOf(world.open(), limit), gateOf(world.open(), limit)] as [
      ConcurrencyLimiter,
      ConcurrencyLimiter,
    ];
    void world.enter(here, 'run_1');
    await world.clock.advance(50);
    void world.enter(there, 'run_2');
    await world.clock.advance(8);
    void world.enter(there, 'run_3');
    await world.clock.advance(5_000);
    expect(world.runs.get('run_1')?.status).toBe('cancelled');
    expect(world.order.at(-1)).toBe('run_3');
    expect([...world.runs.values()].filter(({ status }) => status === 'running')).toHaveLength(1);
    expect(world.most()).toBe(1);
    expect(await world.tables.keys('gates_seen')).toEqual([]);
  });

  it('has room for a thousand that wait, and no more', async () => {
    const world = createWorld(FOREVER, () => 0);
    const gate = gateOf(world.open(), { max: 1, when_busy: 'queue' });
    const outcomes: Promise<OutsideOutcome>[] = [];
    for (let n = 0; n <= 1_001; n++) outcomes.push(world.enter(gate, `run_${n}`));
    for (let n = 0; n < 100; n++) await world.clock.advance(0);
    const kinds = (await Promise.all(outcomes)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'waiting')).toHaveLength(1_000);
    expect(kinds.at(-1)).toBe('suppressed');
  });

  it('gives the place of a run that could not be started to others, and tries again what waited', async () => {
    const world = createWorld(FOREVER);
    const process = world.open();
    const gate = gateOf(process, { max: 1, when_busy: 'queue' });
    process.failStarts(1);
    const overs: unknown[] = [];
    void world.enter(gate, 'run_1', overs);
    await world.clock.advance(100);
    expect(overs).toMatchObject([{ code: 'store_failed' }]);
    void world.enter(gate, 'run_2');
    void world.enter(gate, 'run_3');
    await world.clock.advance(100);
    expect(world.order).toEqual(['run_2']);
    process.failStarts(1);
    world.runs.get('run_2')?.end('completed');
    await world.clock.advance(100);
    expect(world.order).toEqual(['run_2']);
    expect(world.errors).toMatchObject([{ code: 'store_failed' }]);
    await world.clock.advance(11_000);
    expect(world.order).toEqual(['run_2', 'run_3']);
  });

  it('never lets in too many, and loses none that waits, whoever dies and whatever comes', async () => {
    const plan = fc.record({
      limit: fc.record({
        max: fc.integer({ min: 1, max: 3 }),
        when_busy: fc.constantFrom('skip' as const, 'queue' as const, 'replace' as const),
      }),
      comes: fc.array(
        fc.record({ at: fc.nat(3_000), process: fc.nat(2), ms: fc.integer({ min: 1, max: 1_500 }) }),
        { minLength: 1, maxLength: 12 },
      ),
      latencies: fc.array(fc.nat(30), { minLength: 1, maxLength: 8 }),
      dies: fc.option(fc.record({ at: fc.nat(3_500), between: fc.boolean() }), { nil: undefined }),
    });
    await fc.assert(
      fc.asyncProperty(plan, async ({ limit, comes, latencies, dies }) => {
        let nth = 0;
        const world = createWorld(
          (run) => comes[Number(run.slice(4))]?.ms ?? 1,
          () => latencies[nth++ % latencies.length] ?? 0,
        );
        const processes = [world.open(), world.open(), world.open()];
        const gates = processes.map((each) => gateOf(each, limit));
        const told = new Map<string, string>();
        for (const [n, { at, process }] of comes.entries())
          world.clock.after(at, () => {
            const run = `run_${n}`;
            void world
              .enter(gates[process] as ConcurrencyLimiter, run)
              .then(({ kind }) => told.set(run, kind));
          });
        // The first of them dies; whoever it had let in or kept is the others' to start.
        if (dies !== undefined)
          world.clock.after(dies.at, () => (dies.between ? processes[0]?.dieBetween() : processes[0]?.die()));
        await world.clock.advance(200_000);
        expect(world.most()).toBeLessThanOrEqual(limit.max);
        expect(world.under()).toBe(0);
        expect(new Set(world.order).size).toBe(world.order.length);
        for (const [run, kind] of told) {
          // Nobody looks for what a dead process let in and others need not wait for, until one more comes.
          const isLeft = limit.when_busy === 'skip' && comes[Number(run.slice(4))]?.process === 0;
          if (kind === 'suppressed') expect(world.order).not.toContain(run);
          else if (!isLeft && (kind === 'started' || limit.when_busy === 'queue'))
            expect(world.order).toContain(run);
        }
        if (limit.when_busy !== 'skip') {
          expect(readLimitRow(await world.tables.get('gates', 'agent:w#0')).queue).toEqual([]);
          expect(await world.tables.keys('gates_seen')).toEqual([]);
        }
      }),
      { numRuns: moreRuns(60) },
    );
  });
});

describe('the cooldown of a trigger', () => {
  const PACING: OutsideTrigger['pacing'] = { cooldownMs: 10_000 };

  it('counts over all processes, and one that comes again after a crash is let through', async () => {
    const world = createWorld(() => 1);
    const stiles = [world.open(), world.open()].map(({ deps }) =>
      createTriggerPacer(deps, 'agent:w#0', PACING),
    );
    const [here, there] = stiles as [TriggerPacer, TriggerPacer];
    const kinds: string[] = [];
    const enter = async (stile: TriggerPacer, run: string) => {
      const entered = world.enter(stile, run);
      await world.clock.advance(100);
      const outcome = await entered;
      kinds.push(outcome.kind === 'suppressed' ? outcome.reason : outcome.kind);
    };
    await enter(here, 'run_1');
    await enter(there, 'run_2');
    await enter(there, 'run_1');
    await world.clock.advance(10_000);
    await enter(there, 'run_3');
    expect(kinds).toEqual(['started', 'cooldown', 'started', 'started']);
    expect(world.order).toEqual(['run_1', 'run_3']);
  });
});
