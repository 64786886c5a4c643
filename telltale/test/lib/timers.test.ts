import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createSystemClock } from '../../src/lib/clock.ts';

describe('timers of the system clock', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });
  const timers = () => createSystemClock().after;

  it('each fires once, when its own time has come, whatever others of its delay do', () => {
    const after = timers();
    const fired: string[] = [];
    const start = performance.now();
    const note = (name: string) => () => fired.push(`${name} at ${performance.now() - start}`);
    const cancel = after(10, note('taken back'));
    vi.advanceTimersByTime(4);
    after(10, note('second'));
    cancel();
    vi.advanceTimersByTime(4);
    after(10, note('third'));
    vi.advanceTimersByTime(100);
    expect(fired).toEqual(['second at 14', 'third at 18']);
  });

  it('one that throws does not keep the others from firing', () => {
    const after = timers();
    const fire = vi.fn();
    after(5, () => {
      throw new Error('of his own');
    });
    after(5, fire);
    expect(() => vi.advanceTimersByTime(5)).toThrow('of his own');
    vi.advanceTimersByTime(5);
    expect(fire).toHaveBeenCalledOnce();
  });

  it('one that is set while others fire is due after its whole delay', () => {
    const after = timers();
    const fire = vi.fn();
    after(5, () => after(5, fire));
    vi.advanceTimersByTime(9);
    expect(fire).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(fire).toHaveBeenCalledOnce();
  });

  it('one that is taken back by another that fires with it does not fire', () => {
    const after = timers();
    const fire = vi.fn();
    after(5, () => cancel());
    const cancel = after(5, fire);
    vi.advanceTimersByTime(50);
    expect(fire).not.toHaveBeenCalled();
  });

  it.each([0, -5, Number.NaN])(
    'a delay of %s is over at once, and its alarm fires behind its caller',
    (delay) => {
      const fire = vi.fn();
      timers()(delay, fire);
      expect(fire).not.toHaveBeenCalled();
      vi.advanceTimersByTime(1);
      expect(fire).toHaveBeenCalledOnce();
      expect(vi.getTimerCount()).toBe(0);
    },
  );

  it('one that sets itself again and again lets others have their turn, whatever its delay', () => {
    for (const delay of [0, Number.NaN]) {
      const after = timers();
      let rounds = 0;
      const again = () => {
        rounds += 1;
        after(delay, again);
      };
      after(delay, again);
      vi.advanceTimersToNextTimer();
      expect(rounds).toBe(1);
      vi.clearAllTimers();
    }
  });

  it('what one sets off, promises included, comes before the next of the same time, and may take it back', async () => {
    const after = timers();
    const fired: string[] = [];
    after(5, () => {
      fired.push('first');
      Promise.resolve()
        .then(() => undefined)
        .then(() => cancel());
    });
    const cancel = after(5, () => fired.push('second'));
    after(5, () => fired.push('third'));
    await vi.advanceTimersByTimeAsync(10);
    expect(fired).toEqual(['first', 'third']);
  });
});
