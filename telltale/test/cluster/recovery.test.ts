import { describe, expect, it } from 'vitest';
import { createOffering } from '../../src/cluster/fleet-engine.ts';
import { createRecovery } from '../../src/cluster/recovery.ts';
import {
  DEADLY,
  MAX_OFFERS,
  MAX_WORKER_LOSSES,
  type QuarantinedWork,
  type WorkOffer,
} from '../../src/cluster/work-queue.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';

const orphan = (stream: string, deaths = 0) => ({ kind: 'run', stream, root: `root of ${stream}`, deaths });
const many = (count: number) => Array.from({ length: count }, (_, n) => orphan(`r${n}`));

/** A sweep over these orphans, of which the queue knows some already. */
function sweeping(orphans: readonly ReturnType<typeof orphan>[], known = 0) {
  const asked: number[] = [];
  const offered: WorkOffer[][] = [];
  const aside: string[] = [];
  const turns: number[] = [];
  const told: QuarantinedWork[] = [];
  const seen = new Set(orphans.slice(0, known).map(({ stream }) => stream));
  const world = { alive: true, mine: true };
  const sweep = createRecovery({
    shared: {
      isAlive: () => world.alive,
      orphans: async (limit: number) => {
        asked.push(limit);
        return orphans.slice(0, limit) as never;
      },
    },
    queue: {
      turn: async (ms: number) => {
        turns.push(ms);
        return world.mine;
      },
      tend: async () => [{ stream: 'tended' }],
      quarantine: async (offers: readonly WorkOffer[], why: object) => {
        aside.push(...offers.map(({ stream }) => stream));
        expect(why).toBe(DEADLY);
        return offers;
      },
      offer: async (offers: readonly WorkOffer[]) => {
        offered.push([...offers]);
        const fresh = offers.filter(({ stream }) => !seen.has(stream));
        for (const { stream } of fresh) seen.add(stream);
        return fresh.length;
      },
    } as never,
    onQuarantined: (each) => told.push(each),
  });
  return { sweep, world, asked, offered, aside, turns, told };
}

describe('a sweep', () => {
  it('offers what nobody works on, in the turn of its root, with the deaths it has cost', async () => {
    const { sweep, offered, asked, turns } = sweeping([orphan('a'), orphan('b', 1)]);
    expect(await sweep(false)).toBeUndefined();
    expect(offered).toEqual([
      [
        { kind: 'run', stream: 'a', group: 'root of a' },
        { kind: 'run', stream: 'b', group: 'root of b', deaths: 1 },
      ],
    ]);
    expect([asked, turns]).toEqual([[MAX_OFFERS], [900]]);
  });

  it('lays aside what workers die with, and tells of it and of what was laid aside by time', async () => {
    const { sweep, offered, aside, told } = sweeping([
      orphan('a', MAX_WORKER_LOSSES - 1),
      orphan('b', MAX_WORKER_LOSSES),
    ]);
    await sweep(true);
    expect(offered.flat().map(({ stream }) => stream)).toEqual(['a']);
    expect(aside).toEqual(['b']);
    expect(told.map(({ stream }) => stream)).toEqual(['tended', 'b']);
  });

  it('offers so many at a time, and asks for more where those it found are known', async () => {
    const fresh = sweeping(many(MAX_OFFERS * 3));
    await fresh.sweep(false);
    expect([fresh.asked, fresh.offered.map(({ length }) => length)]).toEqual([[MAX_OFFERS], [MAX_OFFERS]]);
    const stale = sweeping(many(MAX_OFFERS * 3), MAX_OFFERS * 2);
    await stale.sweep(false);
    expect(stale.asked).toEqual([MAX_OFFERS, MAX_OFFERS * 2, MAX_OFFERS * 4]);
    expect(stale.offered.map(({ length }) => length)).toEqual(Array(6).fill(MAX_OFFERS));
    await stale.sweep(false);
    expect(stale.asked[3]).toBe(MAX_OFFERS); // there was an end to them
  });

  it('asks for no more than it can look at, however many there are', async () => {
    const endless = sweeping(many(20_000), Number.POSITIVE_INFINITY);
    await endless.sweep(false);
    expect(endless.asked.at(-1)).toBe(16_000);
  });

  it('is not done by a process whose lease is over, nor where it is another’s turn', async () => {
    const late = sweeping(many(1));
    late.world.alive = false;
    expect([await late.sweep(true), late.turns]).toEqual([undefined, []]);
    const other = sweeping(many(1));
    other.world.mine = false;
    expect([await other.sweep(false), other.offered]).toEqual([undefined, []]);
  });

  it('that was poked and refused is asked for once more, since who swept may have looked just before', async () => {
    const { sweep, world, turns } = sweeping([]);
    world.mine = false;
    expect([await sweep(true), await sweep(true), await sweep(true)]).toEqual(['soon', undefined, 'soon']);
    world.mine = true;
    await sweep(true);
    world.mine = false;
    expect([await sweep(true), await sweep(false)]).toEqual(['soon', undefined]);
    expect(turns).toEqual([100, 100, 100, 100, 100, 900]);
  });
});

describe('what was placed where there was no room', () => {
  const offering = (parents: Readonly<Record<string, string>> = {}) => {
    const clock = createSimulatedClock();
    const offered: (readonly WorkOffer[])[] = [];
    const errors: unknown[] = [];
    const world = { broken: false };
    const made = createOffering({
      store: { info: async (stream) => ({ parent: parents[stream] }) as never },
      queue: {
        offer: async (offers, how) => {
          if (world.broken) throw new Error('no database');
          expect(how).toBe('again');
          offered.push(offers);
          return offers.length;
        },
      },
      clock,
      onError: (thrown: unknown) => errors.push(thrown),
    });
    return { clock, made, offered, errors, world };
  };

  it('is gathered for a moment and offered once, in the turn of who called it', async () => {
    const { clock, made, offered } = offering({ b: 'caller' });
    for (const [stream, group] of [['a'], ['b'], ['c', 'given'], ['a']] as const)
      made.add('run', stream, group);
    made.add('session', 'a');
    await clock.advance(9);
    expect(offered).toEqual([]);
    await clock.advance(1);
    expect(
      offered.map((all) => all.map(({ kind, stream, group }) => `${kind} ${stream} of ${group}`)),
    ).toEqual([['run a of a', 'run b of caller', 'run c of given', 'session a of a']]);
    made.add('run', 'd');
    await clock.advance(10);
    expect(offered[1]).toMatchObject([{ stream: 'd' }]);
  });

  it('is offered so many at a time', async () => {
    const { made, offered } = offering();
    for (let n = 0; n < MAX_OFFERS + 3; n++) made.add('run', `r${n}`, 'g');
    await made.close();
    expect(offered.map(({ length }) => length)).toEqual([MAX_OFFERS, 3]);
    expect(new Set(offered.flat().map(({ stream }) => stream)).size).toBe(MAX_OFFERS + 3);
  });

  it('is offered before the end, and an error keeps nothing from being offered later', async () => {
    const { clock, made, offered, errors, world } = offering();
    world.broken = true;
    made.add('run', 'a');
    await clock.advance(10);
    expect([errors.length, offered]).toEqual([1, []]);
    world.broken = false;
    made.add('run', 'b');
    await made.close();
    expect([offered.flat().map(({ stream }) => stream), clock.pending]).toEqual([['b'], 0]);
  });
});
