import type { Clock } from './clock.ts';
import { RuntimeError } from './errors.ts';

/** A clock that stands still until it is told to move: the same test gives the same times on every machine. */
export interface SimulatedClock extends Clock {
  /**
   * Moves time on and fires what falls due, in order of time, then of arming. Promises that a timer resolves
   * are run before the next timer fires, so code under test sees the same order as in real time.
   */
  advance(byMs: number): Promise<void>;
  /** Advances to each timer in turn until none is armed; `limit` guards against timers that re-arm for ever. */
  runAll(limit?: number): Promise<void>;
  /** How many timers are armed. */
  readonly pending: number;
}

interface SimulatedClockTimer {
  readonly due: number;
  readonly fire: () => void;
}

const DEFAULT_RUN_LIMIT = 100_000;

/** `settle` resolves once no promise has anything left to do. */
export function createSimulatedClock(
  startMs = Date.UTC(2026, 0, 1),
  settle: () => Promise<void> = runDry,
): SimulatedClock {
  let elapsed = 0;
  const timers = new Set<SimulatedClockTimer>();

  /** A set gives them in the order of arming, so of those due at once the first is found first. */
  const earliest = (): SimulatedClockTimer | undefined => {
    let first: SimulatedClockTimer | undefined;
    for (const timer of timers) if (first === undefined || timer.due < first.due) first = timer;
    return first;
  };

  const fire = async (timer: SimulatedClockTimer) => {
    timers.delete(timer);
    elapsed = Math.max(elapsed, timer.due);
    timer.fire();
    await settle();
  };

  return {
    now: () => startMs + elapsed,
    monotonic: () => elapsed,
    after(delayMs, callback) {
      const delay = delayMs > 0 ? delayMs : 0; // one that is no number is over, as on the system's clock
      const timer: SimulatedClockTimer = { due: elapsed + delay, fire: callback };
      timers.add(timer);
      return () => {
        timers.delete(timer);
      };
    },
    async advance(byMs) {
      if (!(byMs >= 0)) throw cannotGoBack(byMs);
      const until = elapsed + byMs;
      await settle();
      for (let next = earliest(); next !== undefined && next.due <= until; next = earliest())
        await fire(next);
      elapsed = Math.max(elapsed, until);
    },
    async runAll(limit = DEFAULT_RUN_LIMIT) {
      await settle();
      for (let fired = 0; ; fired++) {
        const next = earliest();
        if (next === undefined) return;
        if (fired === limit) throw neverQuiet(limit, timers.size);
        await fire(next);
      }
    },
    get pending() {
      return timers.size;
    },
  };
}

/** Rounds of the microtask queue: enough for two hundred awaits in a row, at about 5 µs a timer. */
const SETTLE_ROUNDS = 200;

/** Lets promise chains run dry, without giving way to real timers or I/O: the order stays the same on every machine. */
async function runDry(): Promise<void> {
  for (let round = 0; round < SETTLE_ROUNDS; round++) await undefined;
}

const cannotGoBack = (byMs: number) =>
  new RuntimeError('clock_backwards', `A simulated clock was asked to advance by ${byMs} ms.`, {
    hint: 'Advance by zero or more milliseconds.',
  });

const neverQuiet = (limit: number, pending: number) =>
  new RuntimeError('clock_never_quiet', `After ${limit} timers ${pending} are still armed.`, {
    hint: 'Something arms a new timer whenever one fires; use advance() instead of runAll().',
  });
