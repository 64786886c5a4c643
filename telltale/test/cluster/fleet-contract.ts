import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFleetEngine } from '../../src/cluster/fleet-engine.ts';
import { MAX_WORKER_LOSSES, type QuarantinedWork, type WorkQueue } from '../../src/cluster/work-queue.ts';
import type { WorkEnd } from '../../src/engine/engine.ts';
import { RuntimeError } from '../../src/lib/errors.ts';
import type { SimulatedClock } from '../../src/lib/simulated-clock.ts';
import type { StreamWriter } from '../../src/store/store.ts';
import { createMemoryFleet } from './memory-fleet.ts';

/** What the processes of a fleet share. */
export interface FleetStage {
  readonly clock: SimulatedClock;
  /** One for each process. */
  openQueue(): Promise<WorkQueue>;
  /** Lets so much time pass, for all, and all that follows from it. */
  pass(ms: number): Promise<void>;
  close(): Promise<void>;
}

/** An offer has that many tries after the first on the stage. */
export const FLEET_RETRIES = 3;

const SIGN_MS = 1_500;
/** A lease runs out after 7.5 s; then somebody looks, offers, and takes. */
const FAILOVER_MS = 10_000;

interface InHand {
  readonly writer: StreamWriter;
  end(end?: WorkEnd): Promise<void>;
}

/** What the engines of a fleet promise together. */
export function fleetContract(open: () => Promise<FleetStage>): void {
  let stage: FleetStage;
  let fleet: ReturnType<typeof createMemoryFleet>;
  let closes: (() => Promise<unknown>)[];
  let pids: number;
  beforeEach(async () => {
    stage = await open();
    fleet = createMemoryFleet(stage.clock);
    closes = [];
    pids = 0;
  });
  afterEach(async () => {
    for (const close of closes) await close();
    await stage.close();
  });

  /** A process. It works on a stream until the test ends that. */
  const join = async (capacity = 4, refuse?: (stream: string) => WorkEnd | Error | undefined) => {
    const pid = ++pids;
    const { clock } = stage;
    const { store, shared } = fleet.open(pid);
    const queue = await stage.openQueue();
    const errors: unknown[] = [];
    const aside: QuarantinedWork[] = [];
    const begun: string[] = [];
    const inHand = new Map<string, InHand>();
    let most = 0;
    let sweeps = 0;
    let dies: () => void = () => undefined;
    const death = new Promise<WorkEnd>((resolve) => {
      dies = () => resolve({ kind: 'done' });
    });
    const counted = {
      ...shared,
      orphans(limit: number) {
        sweeps += 1;
        return shared.orphans(limit);
      },
    };
    const engine = createFleetEngine({
      store,
      shared: counted,
      queue,
      clock,
      capacity,
      random: () => 0.5,
      onError: (thrown) => errors.push(thrown),
      onQuarantined: (each) => aside.push(each),
    });
    engine.onWork('run', async (stream, signal, taken) => {
      const refusal = refuse?.(stream);
      if (refusal !== undefined) begun.push(stream);
      if (refusal instanceof Error) throw refusal;
      if (refusal !== undefined) return refusal;
      const writer = await store.acquire(stream);
      begun.push(stream);
      taken();
      most = Math.max(most, inHand.size + 1);
      const ended = new Promise<WorkEnd>((resolve) => {
        const over = async (end: WorkEnd, status: string, due?: number) => {
          if (!inHand.delete(stream)) return;
          writer.append(
            { expectedSeq: 0, events: [], status, ...(due === undefined ? {} : { due }) },
            () => undefined,
          );
          await writer.release();
          resolve(end);
        };
        inHand.set(stream, {
          writer,
          end: (end = { kind: 'done' }) =>
            end.kind === 'waiting' ? over(end, 'waiting', end.due) : over(end, 'completed'),
        });
        // It is let go of as it is.
        signal.addEventListener('abort', () => void over({ kind: 'done' }, 'running'));
      });
      return Promise.race([ended, death]);
    });
    engine.start();
    let isDead = false;
    const sign = () => {
      if (isDead) return;
      fleet.beat(pid);
      clock.after(SIGN_MS, sign);
    };
    sign();
    /** Nothing of it is done from here on. */
    const die = async () => {
      isDead = true;
      dies();
      fleet.kill(pid);
      await engine.drain();
      await engine.close();
    };
    closes.push(async () => {
      isDead = true;
      dies();
      await engine.close();
      await queue.close();
    });
    return {
      engine,
      store,
      queue,
      errors,
      aside,
      begun,
      inHand,
      die,
      pid,
      most: () => most,
      sweeps: () => sweeps,
      pause: () => {
        isDead = true;
      },
    };
  };
  type Worker = Awaited<ReturnType<typeof join>>;

  const { open: outside } = { open: () => fleet.open(0).store };
  /** A stream that nobody owns. */
  const leave = async (stream: string, status = 'running', parent?: string, due?: number) => {
    const writer = await outside().create(stream, {
      kind: 'run',
      name: 'w',
      status,
      title: '',
      ...(parent === undefined ? {} : { parent }),
    });
    if (due !== undefined) writer.append({ expectedSeq: 0, events: [], status, due }, () => undefined);
    await writer.release();
  };
  const begunBy = (...workers: Worker[]) => workers.flatMap(({ begun }) => begun).sort();
  const holders = (stream: string, ...workers: Worker[]) =>
    workers.filter(({ inHand }) => inHand.has(stream));

  describe('a stream that nobody works on', () => {
    it('is worked on by one of two that have room, and not again when it has ended', async () => {
      const [one, two] = [await join(), await join()];
      await leave('a');
      await stage.pass(2_000);
      expect(holders('a', one, two)).toHaveLength(1);
      expect(begunBy(one, two)).toEqual(['a']);
      await holders('a', one, two)[0]?.inHand.get('a')?.end();
      await stage.pass(5_000);
      expect(begunBy(one, two)).toEqual(['a']);
      expect(await one.engine.depth()).toMatchObject({ waiting: 0, taken: 0 });
    });

    it('is taken up when its owner has died, each one that he held', async () => {
      const one = await join();
      for (const stream of ['a', 'b', 'c']) await leave(stream);
      await stage.pass(2_000);
      expect([...one.inHand.keys()].sort()).toEqual(['a', 'b', 'c']);
      const two = await join();
      await one.die();
      await stage.pass(FAILOVER_MS);
      expect([...two.inHand.keys()].sort()).toEqual(['a', 'b', 'c']);
    });

    it('is taken up when a message comes, also from a process that works on nothing', async () => {
      await leave('a', 'waiting');
      const [one, two, client] = [await join(), await join(), await join(0)];
      await stage.pass(2_000);
      expect(begunBy(one, two)).toEqual([]);
      await client.engine.signal('run', 'a', { kind: 'signal', from: 'user', body: null });
      await stage.pass(1_000);
      expect(begunBy(one, two, client)).toEqual(['a']);
      expect(client.begun).toEqual([]);
    });

    it('and that waits for a time is worked on then, once, whoever died meanwhile', async () => {
      const [one, two] = [await join(), await join()];
      const due = stage.clock.now() + 30_000;
      await leave('a');
      await stage.pass(2_000);
      const [first] = holders('a', one, two);
      const rest = first === one ? two : one;
      await first?.inHand.get('a')?.end({ kind: 'waiting', due });
      await stage.pass(5_000);
      await first?.die();
      await stage.pass(20_000);
      expect(begunBy(one, two)).toEqual(['a']);
      await stage.pass(5_000);
      expect(begunBy(one, two)).toEqual(['a', 'a']);
      expect(rest.inHand.has('a')).toBe(true);
    });

    it('and that waits for a time is worked on once by the one that remembers it, or another', async () => {
      const [one, two] = [await join(), await join()];
      await leave('a');
      await stage.pass(2_000);
      const [first] = holders('a', one, two);
      await first?.inHand.get('a')?.end({ kind: 'waiting', due: stage.clock.now() + 5_000 });
      await stage.pass(8_000);
      // Whoever came second found it owned.
      expect(holders('a', one, two)).toHaveLength(1);
      await holders('a', one, two)[0]?.inHand.get('a')?.end();
      await stage.pass(8_000);
      expect(holders('a', one, two)).toEqual([]);
    });
  });

  describe('a process', () => {
    it('takes no more than it has room for, and more when there is room', async () => {
      const [one, two] = [await join(2), await join(1)];
      for (let n = 0; n < 8; n += 1) await leave(`s${n}`);
      await stage.pass(3_000);
      expect([one.inHand.size, two.inHand.size]).toEqual([2, 1]);
      // One that was looked for just before it was taken is offered once more, for nothing.
      const { waiting } = await one.engine.depth();
      expect(waiting).toBeGreaterThanOrEqual(5);
      expect(waiting).toBeLessThanOrEqual(8);
      for (let ended = 0; ended < 8; ) {
        for (const { inHand } of [one, two])
          for (const [, { end }] of [...inHand]) {
            await end();
            ended += 1;
          }
        await stage.pass(1_500);
      }
      expect([one.most(), two.most()]).toEqual([2, 1]);
      expect(begunBy(one, two)).toEqual(Array.from({ length: 8 }, (_, n) => `s${n}`));
      expect(one.engine.load()).toEqual({ working: 0, capacity: 2, draining: false });
    });

    it('without room offers what is placed in it to others, unless it holds it or work in hand has called it', async () => {
      const one = await join(1);
      await leave('busy');
      await stage.pass(2_000);
      const two = await join(4);
      await leave('placed');
      await leave('called');
      await leave('held');
      one.engine.dispatch('run', 'placed');
      one.engine.dispatch('run', 'called', 'called');
      await stage.pass(100);
      expect([...one.inHand.keys()]).toEqual(['busy', 'called']);
      one.engine.dispatch('run', 'held', 'here');
      expect(one.engine.busy()).toHaveLength(3);
      await stage.pass(200);
      expect(two.inHand.has('placed')).toBe(true);
    });

    it('that drains begins nothing more, and what it lets go of is taken up by others', async () => {
      const one = await join(4);
      await leave('a');
      await stage.pass(2_000);
      await one.engine.drain();
      expect(one.engine.load()).toEqual({ working: 1, capacity: 4, draining: true });
      await leave('b');
      one.engine.dispatch('run', 'b');
      one.engine.wakeAt('run', 'b', stage.clock.now() + 100);
      await stage.pass(3_000);
      expect(one.begun).toEqual(['a']);
      const two = await join(4);
      await stage.pass(2_000);
      expect([...two.inHand.keys()]).toEqual(['b']);
      await one.engine.close();
      await stage.pass(2_000);
      expect([...two.inHand.keys()].sort()).toEqual(['a', 'b']);
    });

    it('whose lease has run out takes nothing, and what it held is another’s for good', async () => {
      const one = await join(4);
      await leave('a');
      await stage.pass(2_000);
      one.pause();
      await stage.pass(8_000);
      await leave('b');
      await stage.pass(3_000);
      expect(one.begun).toEqual(['a']);
      const two = await join(4);
      await stage.pass(3_000);
      expect([...two.inHand.keys()].sort()).toEqual(['a', 'b']);
      // It wakes up, and looks at what it believes to be its own.
      const refused = new Promise((resolve) =>
        one.inHand.get('a')?.writer.append({ expectedSeq: 0, events: ['{}'] }, resolve),
      );
      expect(await refused).toMatchObject({ code: 'stream_lost' });
      fleet.beat(one.pid);
      one.engine.dispatch('run', 'a');
      await one.inHand.get('a')?.end();
      await stage.pass(3_000);
      expect(one.inHand.size).toBe(0);
      expect(one.errors).toEqual([]);
      expect(two.inHand.has('a')).toBe(true);
    });
  });

  describe('work that cannot be begun', () => {
    it.each([
      ['throws', () => new RuntimeError('manifest_missing', 'No manifest is there.')],
      [
        'says so',
        (): WorkEnd => ({
          kind: 'unable',
          why: { code: 'manifest_missing', message: 'No manifest is there.' },
        }),
      ],
    ])(
      'and %s is tried again with longer and longer pauses, then laid aside until it is placed',
      async (_, no) => {
        const [one, two] = [await join(4, no), await join(4, no)];
        await leave('a');
        await stage.pass(4_000);
        const soon = begunBy(one, two).length;
        expect(soon).toBeGreaterThan(1);
        expect(soon).toBeLessThanOrEqual(FLEET_RETRIES);
        await stage.pass(25_000);
        expect(begunBy(one, two)).toHaveLength(FLEET_RETRIES + 1);
        expect([...one.aside, ...two.aside]).toMatchObject([
          { kind: 'run', stream: 'a', group: 'a', why: 'No manifest is there. [manifest_missing]' },
        ]);
        expect([...one.errors, ...two.errors]).toEqual([]);
        const three = await join(4);
        await stage.pass(3_000);
        expect(three.begun).toEqual([]);
        three.engine.dispatch('run', 'a');
        await stage.pass(100);
        expect(three.inHand.has('a')).toBe(true);
      },
    );

    it('since workers die with it is laid aside, and begun by none until it is placed', async () => {
      const [one, two] = [await join(), await join()];
      fleet.deaths.set('deadly', MAX_WORKER_LOSSES);
      fleet.deaths.set('unlucky', MAX_WORKER_LOSSES - 1);
      for (const stream of ['deadly', 'unlucky']) await leave(stream);
      await stage.pass(5_000);
      expect(begunBy(one, two)).toEqual(['unlucky']);
      expect([...one.aside, ...two.aside]).toMatchObject([
        { kind: 'run', stream: 'deadly', group: 'deadly', why: expect.stringContaining('[workers_lost]') },
      ]);
      // That it was let go of in peace is what counts.
      await holders('unlucky', one, two)[0]?.inHand.get('unlucky')?.end({ kind: 'waiting' });
      await stage.pass(100);
      expect([...fleet.deaths.keys()]).toEqual(['deadly']);
      one.engine.dispatch('run', 'deadly');
      await stage.pass(100);
      expect(one.inHand.has('deadly')).toBe(true);
    });

    it('and ends as if there were nothing to do is not begun every second', async () => {
      const one = await join(4, () => ({ kind: 'done' }));
      await leave('a');
      await stage.pass(25_000);
      expect(one.begun).toHaveLength(FLEET_RETRIES + 1);
      expect(one.aside).toMatchObject([{ stream: 'a', why: expect.stringContaining('[work_left]') }]);
    });
  });

  describe('fairness', () => {
    it('gives a group its share although another was there first and has filled all places', async () => {
      const one = await join(4);
      for (let n = 0; n < 20; n += 1) await leave(`big${n}`, 'running', 'big');
      await stage.pass(2_000);
      expect(one.inHand.size).toBe(4);
      for (let n = 0; n < 4; n += 1) await leave(`small${n}`, 'running', 'small');
      await stage.pass(2_000);
      const bySize = () => {
        const all = [...one.inHand.keys()];
        return [all.filter((each) => each.startsWith('big')).length, all.length];
      };
      expect(bySize()).toEqual([4, 4]);
      for (let n = 0; n < 2; n += 1) {
        const [, oldest] = [...one.inHand].find(([stream]) => stream.startsWith('big')) ?? [];
        await oldest?.end();
        await stage.pass(1_500);
      }
      expect(bySize()).toEqual([2, 4]);
    });
  });

  describe('something new', () => {
    it('is admitted here while there is room, then to the queue, and refused when too many wait', async () => {
      const one = await join(2);
      expect(await one.engine.admit()).toBe('here');
      for (let n = 0; n < 3; n += 1) await leave(`s${n}`);
      await stage.pass(2_000);
      expect(await one.engine.admit()).toBe('queue');
      for (let n = 3; n < 102; n += 1) await leave(`s${n}`);
      await stage.pass(3_000);
      expect((await one.engine.depth()).waiting).toBeGreaterThanOrEqual(100);
      expect(await one.engine.admit()).toBe('full');
      for (let n = 0; n < 3; n += 1) {
        for (const { end } of [...one.inHand.values()]) await end();
        await stage.pass(2_000);
      }
      // As many may come as are gone, and none more in the same look.
      for (let left = 100 - (await one.engine.depth()).waiting; left > 0; left -= 1)
        expect(await one.engine.admit()).toBe('queue');
      expect(await one.engine.admit()).toBe('full');
    });
  });

  it('one process of many looks for what nobody works on, once a second for all', async () => {
    const all = await Promise.all(Array.from({ length: 5 }, () => join(4)));
    await stage.pass(10_000);
    const sweeps = all.reduce((sum, worker) => sum + worker.sweeps(), 0);
    expect(sweeps).toBeGreaterThanOrEqual(6);
    expect(sweeps).toBeLessThanOrEqual(13);
  });
}
