import type { Clock } from '../../kernel/clock.ts';

export interface Watchdog {
  /** Something came in. */
  touch(): void;
  /** From now on it barks after `ms`, whatever comes in. */
  endIn(ms: number): void;
  stop(): void;
}

/**
 * Calls `bark` when nothing has come in for a time: `firstMs` at first, then `idleMs`. Something that comes in costs
 * a look at the clock; the timer finds out for itself that it fired too early.
 */
export function startWatchdog(
  clock: Clock,
  { firstMs, idleMs }: { readonly firstMs: number; readonly idleMs: number },
  bark: (silentMs: number, isFirst: boolean) => void,
): Watchdog {
  let limit = firstMs;
  let isFirst = true;
  let last = clock.monotonic();
  const check = () => {
    const silent = clock.monotonic() - last;
    if (silent >= limit) bark(silent, isFirst);
    else cancel = clock.after(limit - silent, check);
  };
  const arm = (ms: number) => {
    cancel();
    limit = ms;
    last = clock.monotonic();
    cancel = clock.after(ms, check);
  };
  let cancel = clock.after(limit, check);
  return {
    touch() {
      if (isFirst) {
        isFirst = false;
        arm(idleMs);
      } else last = clock.monotonic();
    },
    endIn: arm,
    stop: () => cancel(),
  };
}
