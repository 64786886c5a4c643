import { getEventListeners } from 'node:events';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createSystemClock, sleep, within } from '../../src/lib/clock.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';

const MAX_TIMER_MS = 2_147_483_647;

describe('the system clock', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it('does not fire a timer of 50 days at once: it arms again until the time has come', () => {
    vi.useFakeTimers();
    const delays: (number | undefined)[] = [];
    const realSetTimeout = globalThis.setTimeout;
    vi.spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, ms?: number, ...told: []) => {
      delays.push(ms);
      return realSetTimeout(run, ms, ...told);
    }) as typeof setTimeout);
    const fire = vi.fn();
    const days50 = 50 * 86_400_000;
    createSystemClock().after(days50, fire);
    vi.advanceTimersByTime(MAX_TIMER_MS);
    expect(fire).not.toHaveBeenCalled();
    vi.advanceTimersByTime(days50 - MAX_TIMER_MS - 1);
    expect(fire).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(fire).toHaveBeenCalledOnce();
    expect(delays).toEqual([MAX_TIMER_MS, MAX_TIMER_MS, days50 - 2 * MAX_TIMER_MS].filter((ms) => ms > 0));
    vi.restoreAllMocks();
  });

  it('a long timer can be cancelled in any of its parts', () => {
    vi.useFakeTimers();
    const fire = vi.fn();
    const cancel = createSystemClock().after(3 * MAX_TIMER_MS, fire);
    vi.advanceTimersByTime(MAX_TIMER_MS + 5);
    cancel();
    vi.advanceTimersByTime(5 * MAX_TIMER_MS);
    expect(fire).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('never fires early, even where the platform does', async () => {
    const clock = createSystemClock();
    for (let i = 0; i < 5; i++) {
      const start = clock.monotonic();
      await sleep(clock, 3);
      expect(clock.monotonic() - start).toBeGreaterThanOrEqual(3);
    }
  });

  it('waits for the rest where the platform fires within the last millisecond', () => {
    vi.useFakeTimers();
    const fire = vi.fn();
    const clock = createSystemClock();
    clock.after(3, fire);
    const early = vi.spyOn(performance, 'now').mockReturnValue(clock.monotonic() + 2.5);
    vi.advanceTimersByTime(3);
    expect(fire).not.toHaveBeenCalled();
    early.mockRestore();
    vi.advanceTimersByTime(1);
    expect(fire).toHaveBeenCalledOnce();
  });

  it('leaves nothing behind on a signal once it has slept', async () => {
    const { signal } = new AbortController();
    await sleep(createSystemClock(), 0, signal);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('takes a delay below zero as none', async () => {
    await sleep(createSystemClock(), -5);
    expect(createSystemClock().now()).toBeGreaterThan(Date.UTC(2020, 0, 1));
  });
});

describe('the simulated clock', () => {
  it('takes a delay that is no number for one that is over, as the system’s does, and others still fire', async () => {
    const clock = createSimulatedClock(1_000);
    const seen: string[] = [];
    clock.after(Number.NaN, () => seen.push(`odd@${clock.now()}`));
    clock.after(10, () => seen.push(`even@${clock.now()}`));
    await clock.advance(10);
    expect(seen).toEqual(['odd@1000', 'even@1010']);
  });

  it('fires in order of time, then of arming, and tells the right time while it does', async () => {
    const clock = createSimulatedClock(1_000);
    const seen: string[] = [];
    const arm = (name: string, ms: number) => clock.after(ms, () => seen.push(`${name}@${clock.now()}`));
    arm('c', 30);
    arm('a', 10);
    arm('b', 10);
    arm('zero', 0);
    arm('negative', -5);
    await clock.advance(29);
    expect(seen).toEqual(['zero@1000', 'negative@1000', 'a@1010', 'b@1010']);
    expect([clock.now(), clock.monotonic(), clock.pending]).toEqual([1_029, 29, 1]);
    await clock.advance(1);
    expect(seen.at(-1)).toBe('c@1030');
    expect(clock.pending).toBe(0);
  });

  it('runs what a timer resolves before the next timer fires', async () => {
    const clock = createSimulatedClock();
    const seen: string[] = [];
    const work = async () => {
      await sleep(clock, 10);
      for (let i = 0; i < 60; i++) await Promise.resolve();
      seen.push('first done');
      await sleep(clock, 1);
      seen.push('armed on the way');
    };
    const done = work();
    clock.after(11, () => seen.push('second'));
    clock.after(12, () => seen.push('third'));
    await clock.advance(20);
    await done;
    expect(seen).toEqual(['first done', 'second', 'armed on the way', 'third']);
  });

  it('a timer that is cancelled does not fire, and one may cancel another that is due at the same time', async () => {
    const clock = createSimulatedClock();
    const fire = vi.fn();
    let cancel = () => {};
    clock.after(5, () => cancel());
    cancel = clock.after(5, fire);
    await clock.advance(10);
    expect(fire).not.toHaveBeenCalled();
    expect(clock.pending).toBe(0);
  });

  it('runAll goes on until nothing is armed, and gives up on timers that arm themselves for ever', async () => {
    const clock = createSimulatedClock();
    let left = 5;
    const again = () => {
      if (--left > 0) clock.after(1_000, again);
    };
    clock.after(1_000, again);
    await clock.runAll();
    expect([left, clock.monotonic()]).toEqual([0, 5_000]);
    const forever = () => {
      clock.after(1, forever);
    };
    clock.after(1, forever);
    await expect(clock.runAll(50)).rejects.toMatchObject({
      code: 'clock_never_quiet',
      message: 'After 50 timers 1 are still armed.',
    });
  });

  it.each([-1, Number.NaN])('cannot advance by %d', async (ms) => {
    await expect(createSimulatedClock().advance(ms)).rejects.toMatchObject({ code: 'clock_backwards' });
  });
});

describe('sleep', () => {
  it('ends with the reason of an abort, and leaves no timer behind', async () => {
    const clock = createSimulatedClock();
    const abort = new AbortController();
    const slept = sleep(clock, 1_000, abort.signal);
    expect(clock.pending).toBe(1);
    abort.abort(new Error('enough'));
    await expect(slept).rejects.toThrow('enough');
    expect(clock.pending).toBe(0);
  });

  it('does not begin where the signal is aborted already', async () => {
    const clock = createSimulatedClock();
    await expect(sleep(clock, 1, AbortSignal.abort(new Error('before')))).rejects.toThrow('before');
    expect(clock.pending).toBe(0);
  });

  it('takes its listener off the signal when it ends in time', async () => {
    const clock = createSimulatedClock();
    const { signal } = new AbortController();
    const remove = vi.spyOn(signal, 'removeEventListener');
    const slept = sleep(clock, 10, signal);
    await clock.advance(10);
    await slept;
    expect(remove).toHaveBeenCalledOnce();
  });
});

describe('within', () => {
  it('is what came of the work in time, or late, and leaves no timer behind', async () => {
    const clock = createSimulatedClock();
    const failure = new Error('no');
    expect(await within(clock, 10, Promise.resolve(7))).toEqual({ kind: 'done', value: 7 });
    expect(await within(clock, 10, Promise.reject(failure))).toEqual({ kind: 'failed', error: failure });
    const late = within(clock, 10, new Promise(() => {}));
    await clock.advance(10);
    expect(await late).toEqual({ kind: 'late' });
    const stop = new AbortController();
    const stopped = within(clock, 10, new Promise(() => {}), stop.signal);
    stop.abort();
    expect(await stopped).toEqual({ kind: 'late' });
    expect(await within(clock, 10, new Promise(() => {}), stop.signal)).toEqual({ kind: 'late' });
    expect(clock.pending).toBe(0);
  });

  it('takes up a failure that comes too late: it is nobody’s to hear any more', async () => {
    const clock = createSimulatedClock();
    const work = sleep(clock, 2).then(() => Promise.reject(new Error('too late')));
    const late = within(clock, 1, work);
    await clock.advance(2); // a rejection that nobody takes up fails the run
    expect(await late).toEqual({ kind: 'late' });
  });
});
