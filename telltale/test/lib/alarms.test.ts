import { spawnSync } from 'node:child_process';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createAlarms } from '../../src/lib/alarms.ts';

const ALARMS = new URL('../../src/lib/alarms.ts', import.meta.url);

describe('alarms', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });
  const alarms = () => createAlarms(() => performance.now());

  it('each fires once, when its own time has come, whatever others of its delay do', () => {
    const after = alarms();
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
    const after = alarms();
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
    const after = alarms();
    const fire = vi.fn();
    after(5, () => after(5, fire));
    vi.advanceTimersByTime(9);
    expect(fire).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(fire).toHaveBeenCalledOnce();
  });

  it('one that is taken back by another that fires with it does not fire', () => {
    const after = alarms();
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
      alarms()(delay, fire);
      expect(fire).not.toHaveBeenCalled();
      vi.advanceTimersByTime(1);
      expect(fire).toHaveBeenCalledOnce();
      expect(vi.getTimerCount()).toBe(0);
    },
  );

  it('one that sets itself again and again lets others have their turn, whatever its delay', () => {
    for (const delay of [0, Number.NaN]) {
      const after = alarms();
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
    const after = alarms();
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

  it('whoever keeps one that is over keeps none that came later', async () => {
    vi.useRealTimers();
    const after = createAlarms(() => performance.now());
    let heavy: object | undefined = { of: 'a later one' };
    const kept = after(60_000, () => undefined);
    let later = ((held) => after(60_000, () => held))(heavy);
    const gone = new WeakRef(heavy);
    heavy = undefined;
    kept();
    later();
    later = () => undefined;
    await new Promise((resolve) => setImmediate(resolve));
    setFlagsFromString('--expose-gc');
    (runInNewContext('gc') as () => void)();
    expect(gone.deref()).toBe(undefined);
    kept(); // still held
  });

  it('leaves no timer of a delay that came once and was taken back', () => {
    const after = alarms();
    for (let delay = 1; delay < 100; delay++) after(delay, () => undefined)();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('as many timers as delays are set, however many alarms there are', () => {
    const after = alarms();
    for (let each = 0; each < 1000; each++) after(each % 2 === 0 ? 100 : 60_000, () => undefined);
    expect(vi.getTimerCount()).toBe(2);
  });

  it('does what a timer for each would do', async () => {
    vi.useRealTimers();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const step = fc.oneof(
      fc.record({ set: fc.constantFrom(0, 1, 5, 5, 20) }),
      fc.record({ cancel: fc.nat(20) }),
      fc.record({ pass: fc.nat(15) }),
    );
    const tell = async (
      steps: readonly ({ set: number } | { cancel: number } | { pass: number })[],
      after: (delay: number, fire: () => void) => () => void,
    ) => {
      const fired: [number, number][] = [];
      const cancels: (() => void)[] = [];
      let now = 0;
      const pass = async (ms: number) => {
        for (let passed = 0; passed < ms; passed++, now++) {
          vi.advanceTimersByTime(1);
          await new Promise((resolve) => setImmediate(resolve)); // those that have a turn of their own
        }
      };
      for (const each of steps) {
        if ('set' in each) {
          const name = cancels.length;
          cancels.push(after(each.set, () => fired.push([name, now])));
        } else if ('cancel' in each) cancels[each.cancel]?.();
        else await pass(each.pass);
      }
      await pass(50);
      // Which delay comes first within a millisecond is nobody's promise.
      return fired.toSorted(([a, at], [b, bt]) => at - bt || a - b);
    };
    const each = (delay: number, fire: () => void) => {
      const timer = setTimeout(fire, delay);
      return () => clearTimeout(timer);
    };
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        expect(await tell(steps, alarms())).toEqual(await tell(steps, each));
      }),
    );
  });
});

it.each([
  ['ends though many were taken back', 'for (let n = 0; n < 100; n++) after(60_000, () => {})();', ''],
  [
    'stays for one that is set again behind those',
    'for (let n = 0; n < 100; n++) after(300, () => {})(); after(300, () => console.log("fired"));',
    'fired\n',
  ],
])('a process %s', (_, code, printed) => {
  const program = `import { createAlarms } from ${JSON.stringify(ALARMS.href)}; const after = createAlarms(() => performance.now()); ${code}`;
  const { stdout, status } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
    timeout: 30_000,
  });
  expect([stdout, status]).toEqual([printed, 0]);
});
