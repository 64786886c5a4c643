import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  ASIDE_MS,
  LONGEST_PAUSE_MS,
  TAKEN_MS,
  type WorkOffer,
  type WorkQueue,
} from '../../src/cluster/work-queue.ts';
import { moreRuns } from '../more-runs.ts';

/** Two processes of a fleet, and the queue that they share. */
export interface QueueStage {
  readonly one: WorkQueue;
  readonly other: WorkQueue;
  /** For the queue it is so much later. */
  pass(ms: number): Promise<void>;
  until(held: () => boolean): Promise<void>;
  /** Empties it. */
  clear(): Promise<void>;
  close(): Promise<void>;
}

/** An offer has that many tries on the stage. */
export const STAGE_RETRIES = 2;

const WHY = { code: 'broken', message: 'It is broken.' };
const run = (stream: string, group = stream): WorkOffer => ({ kind: 'run', stream, group });
const names = (offers: readonly WorkOffer[]) => offers.map(({ stream }) => stream);

/** What every queue promises. */
export function workQueueContract(open: () => Promise<QueueStage>): void {
  let stage: QueueStage;
  let one: WorkQueue;
  let other: WorkQueue;
  beforeAll(async () => {
    stage = await open();
    ({ one, other } = stage);
  });
  afterEach(() => stage.clear());
  afterAll(() => stage.close());

  const takeOne = async (queue = one) => {
    const [offer, ...more] = await queue.take(1);
    expect(more).toEqual([]);
    if (offer === undefined) throw new Error('Nothing was there to take.');
    return offer;
  };
  const failAll = async () => {
    for (let retries = 0; retries < STAGE_RETRIES; retries += 1) {
      expect(await (await takeOne()).failed(WHY)).toBe('again');
      await stage.pass(LONGEST_PAUSE_MS);
    }
    expect(await (await takeOne()).failed(WHY)).toBe('aside');
  };

  describe('an offer', () => {
    it('is taken by one of those who ask, once', async () => {
      expect(await one.offer([run('a'), run('b')])).toBe(2);
      const taken = await Promise.all([one.take(5), other.take(5)]);
      expect(names(taken.flat()).sort()).toEqual(['a', 'b']);
      expect(taken.flat()).toMatchObject([
        { kind: 'run', retries: 0 },
        { kind: 'run', retries: 0 },
      ]);
      expect(await other.take(5)).toEqual([]);
    });

    it('is one however often it is made, by whoever, while it waits and while it is taken', async () => {
      const made = await Promise.all(
        [one, other, one, other].map((queue) => queue.offer([run('a'), run('a')])),
      );
      expect(made.reduce((sum, count) => sum + count)).toBe(1);
      expect(await one.depth()).toMatchObject({ waiting: 1, taken: 0 });
      await takeOne();
      expect(await other.offer([run('a')])).toBe(0);
      expect(await other.depth()).toMatchObject({ waiting: 0, taken: 1 });
    });

    it('can be made anew once it is settled, and of another kind beside', async () => {
      await one.offer([run('a')]);
      await (await takeOne()).settled();
      expect(await one.depth()).toMatchObject({ waiting: 0, taken: 0 });
      expect(await one.offer([run('a'), { kind: 'session', stream: 'a', group: 'a' }])).toBe(2);
    });

    it('says for how long it has waited', async () => {
      await one.offer([run('a')]);
      await stage.pass(3_000);
      const { lagMs } = await other.depth();
      expect(lagMs).toBeGreaterThanOrEqual(3_000);
      expect((await takeOne()).waitedMs).toBeGreaterThanOrEqual(3_000);
      expect((await one.depth()).lagMs).toBe(0);
    });

    it('that pauses after a try is not late, and then only since its pause was over', async () => {
      await one.offer([run('a')]);
      await stage.pass(3_000);
      await (await takeOne()).failed(WHY);
      expect(await other.depth()).toMatchObject({ waiting: 1, lagMs: 0 });
      await stage.pass(LONGEST_PAUSE_MS);
      const { lagMs } = await other.depth();
      expect(lagMs).toBeGreaterThan(0);
      expect(lagMs).toBeLessThanOrEqual(LONGEST_PAUSE_MS);
    });

    it('has names of any length and of any characters', async () => {
      const long = `${'ß'.repeat(1_000)} 'x' "y" $1 \\ 🦔`;
      expect(await one.offer([run(long, long), run(`${long}!`, long)])).toBe(2);
      expect(await one.offer([run(long, long)])).toBe(0);
      expect(names(await one.take(2)).sort()).toEqual([long, `${long}!`].sort());
    });

    it('is heard of by all', async () => {
      let heard = 0;
      const deaf = [one, other].map((queue) => queue.onOffered(() => (heard += 1)));
      await one.offer([run('a')]);
      await stage.until(() => heard >= 2);
      for (const end of deaf) end();
    });
  });

  describe('an offer that was taken', () => {
    it('is another’s after a while, and then its first taker has no say', async () => {
      await one.offer([run('a')]);
      const late = await takeOne();
      expect(await other.tend()).toEqual([]);
      await stage.pass(TAKEN_MS);
      expect(await other.tend()).toEqual([]);
      await stage.pass(LONGEST_PAUSE_MS);
      const again = await takeOne(other);
      expect(again).toMatchObject({ stream: 'a', retries: 1 });
      await late.settled();
      expect(await late.failed(WHY)).toBe('again');
      expect(await one.depth()).toMatchObject({ waiting: 0, taken: 1 });
      await again.settled();
      expect(await one.depth()).toMatchObject({ waiting: 0, taken: 0 });
    });

    it('and failed is offered again after a pause, not before', async () => {
      await one.offer([run('a')]);
      await (await takeOne()).failed(WHY);
      expect(await one.take(1)).toEqual([]);
      expect(await one.depth()).toMatchObject({ waiting: 1 });
      await stage.pass(LONGEST_PAUSE_MS);
      expect(await takeOne()).toMatchObject({ stream: 'a', retries: 1 });
    });

    it('and not settled time after time is laid aside, and whoever tends to it hears so', async () => {
      await one.offer([run('a', 'g')]);
      for (let tries = 0; tries < STAGE_RETRIES; tries += 1) {
        await takeOne();
        await stage.pass(TAKEN_MS + LONGEST_PAUSE_MS);
        expect(await other.tend()).toEqual([]);
        await stage.pass(LONGEST_PAUSE_MS);
      }
      await takeOne();
      await stage.pass(TAKEN_MS);
      expect(await other.tend()).toMatchObject([{ kind: 'run', stream: 'a', group: 'g' }]);
      expect(await one.depth()).toMatchObject({ waiting: 0, taken: 0, laidAside: 1 });
    });
  });

  describe('an offer that is laid aside', () => {
    it('says why, and is not made again by the way', async () => {
      await one.offer([run('a', 'g')]);
      await failAll();
      expect(await one.depth()).toEqual({ waiting: 0, taken: 0, laidAside: 1, lagMs: 0 });
      expect(await other.laidAside(10)).toMatchObject([
        { kind: 'run', stream: 'a', group: 'g', why: 'It is broken. [broken]' },
      ]);
      expect(await one.offer([run('a'), run('b')])).toBe(1);
      expect(names(await one.take(5))).toEqual(['b']);
    });

    it('is made anew where that is asked for, with all its tries', async () => {
      await one.offer([run('a')]);
      await failAll();
      expect(await other.offer([run('a')], 'again')).toBe(1);
      expect(await one.laidAside(10)).toEqual([]);
      await failAll();
    });

    it('without a try says so once, leaves what is offered as it is, and gets its tries where that is asked for', async () => {
      await one.offer([run('b')]);
      const both = [run('a', 'g'), run('b')];
      expect(await one.quarantine(both, WHY)).toMatchObject([
        { kind: 'run', stream: 'a', group: 'g', why: 'It is broken. [broken]' },
      ]);
      expect(await other.quarantine(both, WHY)).toEqual([]);
      expect(await other.laidAside(10)).toMatchObject([{ stream: 'a', why: 'It is broken. [broken]' }]);
      expect(await other.depth()).toMatchObject({ waiting: 1, laidAside: 1 });
      expect(await one.offer([run('a')])).toBe(0);
      expect(names(await one.take(5))).toEqual(['b']);
      expect(await other.offer([run('a')], 'again')).toBe(1);
      await failAll();
    });

    it('is made anew after a while: a machine may have come that can do it', async () => {
      await one.offer([run('a')]);
      await failAll();
      await stage.pass(ASIDE_MS);
      expect(await other.offer([run('a')])).toBe(1);
      expect(await one.depth()).toMatchObject({ waiting: 1, laidAside: 0 });
    });
  });

  describe('groups', () => {
    it('take turns, however many of one were there first', async () => {
      await one.offer(Array.from({ length: 6 }, (_, n) => run(`big${n}`, 'big')));
      await stage.pass(10);
      await other.offer([run('small0', 'small'), run('small1', 'small'), run('lone', 'lone')]);
      const order: string[] = [];
      for (let n = 0; n < 9; n += 1) order.push((await takeOne()).stream);
      expect(order.indexOf('lone')).toBeLessThan(3);
      expect(order.indexOf('small1')).toBeLessThan(5);
      expect(order.slice(5)).toEqual(['big2', 'big3', 'big4', 'big5']);
    });

    it('that come later join the round that is being taken', async () => {
      await one.offer(Array.from({ length: 6 }, (_, n) => run(`old${n}`, 'old')));
      await one.take(4);
      await stage.pass(10);
      await one.offer(Array.from({ length: 4 }, (_, n) => run(`new${n}`, 'new')));
      const order = [];
      for (let n = 0; n < 6; n += 1) order.push((await takeOne()).stream);
      expect(order).toEqual(['old4', 'new0', 'old5', 'new1', 'new2', 'new3']);
    });

    it('that have their share come last, and are not kept waiting where no other waits', async () => {
      await one.offer([run('a0', 'a'), run('a1', 'a'), run('b0', 'b')]);
      const [first] = await one.take(1, new Set(['a']));
      expect(first?.stream).toBe('b0');
      expect(names(await one.take(5, new Set(['a'])))).toEqual(['a0', 'a1']);
    });
  });

  describe('a turn', () => {
    it('is one process’s in that time', async () => {
      await stage.pass(2_000);
      const turns = await Promise.all([one, other, one, other].map((queue) => queue.turn(1_000)));
      expect(turns.filter(Boolean)).toHaveLength(1);
      await stage.pass(500);
      expect(await one.turn(1_000)).toBe(false);
      await stage.pass(1_000);
      expect(await other.turn(1_000)).toBe(true);
    });
  });

  it('nothing that is offered is lost or taken twice, whatever several do', async () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant('offer' as const), stream: fc.nat(5), by: fc.boolean() }),
      fc.record({ do: fc.constant('take' as const), most: fc.nat(3), by: fc.boolean() }),
      fc.record({ do: fc.constantFrom('settle' as const, 'forget' as const), at: fc.nat(3) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
        const waiting = new Set<string>();
        const held: Awaited<ReturnType<WorkQueue['take']>>[number][] = [];
        for (const each of steps) {
          if (each.do === 'offer') {
            const stream = `s${each.stream}`;
            const isNew = !waiting.has(stream) && !held.some((offer) => offer.stream === stream);
            expect(await (each.by ? one : other).offer([run(stream, `g${each.stream % 2}`)])).toBe(
              isNew ? 1 : 0,
            );
            waiting.add(stream);
            if (!isNew && held.some((offer) => offer.stream === stream)) waiting.delete(stream);
          } else if (each.do === 'take') {
            const taken = await (each.by ? one : other).take(each.most);
            expect(taken).toHaveLength(Math.min(each.most, waiting.size));
            for (const offer of taken) {
              expect(waiting.delete(offer.stream)).toBe(true);
              held.push(offer);
            }
          } else {
            const [offer] = held.splice(each.at, 1);
            if (each.do === 'settle') await offer?.settled();
            else if (offer !== undefined) held.push(offer);
          }
          expect(await one.depth()).toMatchObject({ waiting: waiting.size, taken: held.length });
        }
        await stage.clear();
      }),
      { numRuns: moreRuns(25) },
    );
  });
}
