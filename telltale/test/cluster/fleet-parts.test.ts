import { describe, expect, it } from 'vitest';
import { createAdmission } from '../../src/cluster/fleet-engine.ts';
import { createPeriodicTask } from '../../src/cluster/recovery.ts';
import { offerRounds } from '../../src/cluster/work-queue.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';

describe('a beat', () => {
  const beating = (run: (woken: boolean, nth: number) => 'soon' | undefined | Promise<undefined>) => {
    const clock = createSimulatedClock();
    const beats: string[] = [];
    const errors: unknown[] = [];
    const beat = createPeriodicTask({
      clock,
      random: () => 0.5,
      soonMs: 10,
      onError: (thrown) => errors.push(thrown),
      run: async (woken) => {
        beats.push(`${clock.monotonic()}${woken ? ' poked' : ''}`);
        return run(woken, beats.length);
      },
    });
    return { clock, beat, beats, errors };
  };

  it('comes soon after the start, and then about once a second', async () => {
    const { clock, beat, beats } = beating(() => undefined);
    beat.wake();
    await clock.advance(100);
    expect(beats).toEqual([]);
    beat.start();
    beat.start();
    await clock.advance(2_300);
    expect(beats).toEqual(['110 poked', '1210', '2310']);
  });

  it('comes soon after a poke, one for many, and after one that asks for it', async () => {
    const { clock, beat, beats } = beating((_, nth) => (nth === 2 ? 'soon' : undefined));
    beat.start();
    await clock.advance(510);
    beat.wake();
    beat.wake();
    await clock.advance(25);
    expect(beats).toEqual(['10', '520 poked', '530 poked']);
    expect(clock.pending).toBe(1);
  });

  it('is one at a time: a poke meanwhile is heard behind it', async () => {
    let end: () => void = () => undefined;
    const { clock, beat, beats } = beating((_, nth) =>
      nth === 1 ? new Promise((resolve) => (end = () => resolve(undefined))) : undefined,
    );
    beat.start();
    await clock.advance(10);
    beat.wake();
    await clock.advance(5_000);
    expect(beats).toEqual(['10']);
    end();
    await clock.advance(10);
    expect(beats).toEqual(['10', '5020 poked']);
  });

  it('that fails is tried once a second, poked or not, and told of once a minute', async () => {
    let broken = true;
    const { clock, beat, beats, errors } = beating(() => {
      if (broken) throw new Error('down');
      return undefined;
    });
    beat.start();
    await clock.advance(20);
    beat.wake();
    await clock.advance(1_000);
    expect(beats).toEqual(['10']);
    await clock.advance(100);
    expect([beats, errors.length]).toEqual([['10', '1110 poked'], 1]);
    await clock.advance(60_000);
    expect(errors).toHaveLength(2);
    broken = false;
    await clock.advance(1_100);
    broken = true;
    await clock.advance(1_100);
    expect(errors).toHaveLength(3); // a new row
  });

  it('that is stopped ends what is under way, and comes no more', async () => {
    let end: () => void = () => undefined;
    const { clock, beat, beats } = beating(() => new Promise((resolve) => (end = () => resolve(undefined))));
    beat.start();
    await clock.advance(10);
    let stopped = false;
    const stopping = beat.stop().then(() => {
      stopped = true;
    });
    await clock.advance(100);
    expect(stopped).toBe(false);
    end();
    await stopping;
    beat.wake();
    await clock.advance(5_000);
    expect([beats, clock.pending]).toEqual([['10'], 0]);
  });
});

describe('the rounds of offers', () => {
  it('take one of each group a round, and who comes later joins the round in hand', () => {
    const waiting = { current: 4, last: new Map([['a', 6]]) };
    expect(offerRounds(['a', 'b', 'b', 'a', 'c'], waiting)).toEqual([7, 4, 5, 8, 4]);
    expect(offerRounds(['a', 'a'], { current: 0, last: new Map() })).toEqual([0, 1]);
    expect(waiting.last.get('a')).toBe(6);
  });
});

describe('admission', () => {
  const worker = (capacity: number, more: object = {}) => ({ capacity, alive: true, ...more }) as never;
  const gate = (waiting: number, workers: readonly never[]) => {
    const clock = createSimulatedClock();
    let looks = 0;
    const depth = async () => {
      looks++;
      if (waiting < 0) throw new Error('no database');
      return { waiting } as never;
    };
    const admit = createAdmission({ shared: { workers: async () => [...workers] }, queue: { depth }, clock });
    const many = async (times: number) => {
      let let_in = 0;
      for (let n = 0; n < times; n++) if (await admit()) let_in++;
      return let_in;
    };
    return { clock, admit, many, looks: () => looks };
  };

  it('lets ten wait for each place of the workers that live and take something', async () => {
    const workers = [worker(20), worker(10), worker(50, { alive: false }), worker(50, { draining: true })];
    const { many, looks } = gate(290, workers);
    expect([await many(20), looks()]).toEqual([10, 1]);
  });

  it('lets a hundred wait where there are few workers, or none', async () => {
    expect(await gate(95, []).many(10)).toBe(5);
    expect(await gate(100, [worker(1)]).many(1)).toBe(0);
  });

  it('looks anew after half a second, and after a look that failed', async () => {
    const { clock, many, looks } = gate(99, []);
    expect(await many(2)).toBe(1);
    await clock.advance(499);
    expect([await many(1), looks()]).toEqual([0, 1]);
    await clock.advance(1);
    expect([await many(1), looks()]).toEqual([1, 2]);
    const broken = gate(-1, []);
    await expect(broken.admit()).rejects.toThrow('no database');
    await expect(broken.admit()).rejects.toThrow('no database');
    expect(broken.looks()).toBe(2);
  });
});
