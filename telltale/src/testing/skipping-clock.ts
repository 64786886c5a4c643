import type { Clock } from '../kernel/clock.ts';
import { createSystemClock } from '../kernel/clock.ts';

/** Time as it is, that can also be moved on: what has come due by then fires at once. */
export interface SkippingClock extends Clock {
  /** Does nothing where that time has come. */
  skipTo(time: number): void;
}

interface Timer {
  readonly due: number;
  readonly fire: () => void;
  cancel: () => void;
}

export function createSkippingClock(real: Clock = createSystemClock()): SkippingClock {
  let skipped = 0;
  const timers = new Set<Timer>();
  const now = () => real.now() + skipped;
  const monotonic = () => real.monotonic() + skipped;
  const arm = (timer: Timer) => {
    timer.cancel = real.after(timer.due - monotonic(), () => {
      timers.delete(timer);
      timer.fire();
    });
  };
  return {
    now,
    monotonic,
    after(delayMs, fire) {
      const timer: Timer = { due: monotonic() + Math.max(0, delayMs), fire, cancel: () => undefined };
      timers.add(timer);
      arm(timer);
      return () => {
        timers.delete(timer);
        timer.cancel();
      };
    },
    skipTo(time) {
      const by = time - now();
      if (!(by > 0)) return;
      skipped += by;
      for (const timer of [...timers].sort((a, b) => a.due - b.due)) {
        timer.cancel();
        arm(timer);
      }
    },
  };
}
