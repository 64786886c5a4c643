import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createAlarms } from '../../src/kernel/alarms.ts';

const ALARMS = new URL('../../src/kernel/alarms.ts', import.meta.url);

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

  it('does what a timer for each would do', () => {
    const step = fc.oneof(
      fc.record({ set: fc.constantFrom(0, 1, 5, 5, 20) }),
      fc.record({ cancel: fc.nat(20) }),
      fc.record({ pass: fc.nat(15) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const told = (after: (delay: number, fire: () => void) => () => void) => {
          const fired: [number, number][] = [];
          const cancels: (() => void)[] = [];
          let now = 0;
          for (const each of steps) {
            if ('set' in each) {
              const name = cancels.length;
              cancels.push(after(each.set, () => fired.push([name, now])));
            } else if ('cancel' in each) cancels[each.cancel]?.();
            else for (let ms = 0; ms < each.pass; ms++, now++) vi.advanceTimersByTime(1);
          }
          for (let ms = 0; ms < 50; ms++, now++) vi.advanceTimersByTime(1);
          return fired;
        };
        const each = (delay: number, fire: () => void) => {
          const timer = setTimeout(fire, delay);
          return () => clearTimeout(timer);
        };
        const byName = (fired: [number, number][]) => fired.toSorted(([a], [b]) => a - b);
        expect(byName(told(alarms()))).toEqual(byName(told(each)));
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
