import type { Clock } from '../../kernel/clock.ts';
import type { StreamLimits } from './stream-limits.ts';

/** Something that gathers events and writes them. */
export interface Gatherer {
  /** When it last wrote. */
  flushedAt: number;
  /** Whether it is going to. */
  isDue: boolean;
  flush(): void;
}

/** When events are written: at once while there is quiet, and under load once in a window for each channel. */
export interface Pulse {
  /** Has it flushed soon. `events`: how many the last one makes, one for each client. */
  soon(gatherer: Gatherer, events: number): void;
  stop(): void;
}

/** How exactly windows are kept. */
const TICK_MS = 5;

/** One timer for all channels, which runs while something waits. */
export function createPulse(
  clock: Clock,
  { windowMs, quietEvents }: Pick<StreamLimits, 'windowMs' | 'quietEvents'>,
): Pulse {
  let waiting: Gatherer[] = [];
  let atOnce: Gatherer[] = [];
  let stopTimer: (() => void) | undefined;
  let windowAt = clock.monotonic();
  let events = 0;
  let wasBusy = false;

  const isBusy = (now: number): boolean => {
    const passed = now - windowAt;
    if (passed >= windowMs) {
      wasBusy = events > quietEvents && passed < 2 * windowMs;
      windowAt = now;
      events = 0;
    }
    return wasBusy || events > quietEvents;
  };

  const flush = (gatherer: Gatherer, now: number) => {
    gatherer.isDue = false;
    gatherer.flushedAt = now;
    gatherer.flush();
  };

  const flushAtOnce = () => {
    const due = atOnce;
    atOnce = [];
    const now = clock.monotonic();
    for (const gatherer of due) flush(gatherer, now);
  };

  const arm = () => {
    stopTimer = clock.after(TICK_MS, tick);
  };

  const tick = () => {
    const before = waiting;
    waiting = [];
    const now = clock.monotonic();
    for (const gatherer of before) {
      if (gatherer.flushedAt + windowMs <= now) flush(gatherer, now);
      else waiting.push(gatherer);
    }
    if (waiting.length > 0) arm();
    else stopTimer = undefined;
  };

  return {
    soon(gatherer, more) {
      events += more;
      if (gatherer.isDue) return;
      gatherer.isDue = true;
      const now = clock.monotonic();
      if (isBusy(now) && gatherer.flushedAt + windowMs > now) {
        waiting.push(gatherer);
        if (stopTimer === undefined) arm();
        // What is appended in one go is told in one go: one write.
      } else if (atOnce.push(gatherer) === 1) queueMicrotask(flushAtOnce);
    },
    stop() {
      stopTimer?.();
      stopTimer = undefined;
      waiting = [];
    },
  };
}
