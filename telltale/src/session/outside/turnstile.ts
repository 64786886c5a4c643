import type { Clock } from '../../kernel/clock.ts';
import type { OutsideTrigger } from '../../triggers/outside-triggers.ts';
import type { OutsideOutcome, WorkflowRun } from '../runs/run-types.ts';

/** Runs of one trigger that wait for others to end. */
const MAX_QUEUED = 1_000;

/** What comes to a turnstile. One of the two is called, at once or later, and neither where the turnstile is closed first. */
export interface Entrant {
  start(): WorkflowRun;
  /** It will never start. */
  drop(): void;
}

/**
 * The pace of one trigger that no session watches over. What waits here is in this process only: whoever posts to a
 * hook is told that it only waits, and a schedule keeps its claim until it is heard of.
 */
export interface Turnstile {
  enter(entrant: Entrant): OutsideOutcome;
  close(): void;
}

export function createTurnstile(clock: Clock, pacing: OutsideTrigger['pacing']): Turnstile {
  const { debounceMs, cooldownMs, delayMs, concurrency } = pacing;
  const under = new Set<WorkflowRun>();
  const timers = new Set<() => void>();
  let queued: Entrant[] = [];
  let quiet: { readonly end: () => void; readonly entrant: Entrant } | undefined;
  let last = Number.NEGATIVE_INFINITY;
  let closed = false;

  const later = (ms: number, then: () => void): (() => void) => {
    const cancel = clock.after(ms, () => {
      timers.delete(cancel);
      then();
    });
    timers.add(cancel);
    return () => {
      timers.delete(cancel);
      cancel();
    };
  };
  const suppress = (entrant: Entrant, reason: 'cooldown' | 'busy'): OutsideOutcome => {
    entrant.drop();
    return { kind: 'suppressed', reason };
  };
  const begin = (entrant: Entrant): OutsideOutcome => {
    const run = entrant.start();
    under.add(run);
    const over = () => {
      under.delete(run);
      const next = closed ? undefined : queued.shift();
      if (next !== undefined) begin(next);
    };
    run.result.then(over, over);
    return { kind: 'started', run: run.id };
  };
  const pass = (entrant: Entrant): OutsideOutcome => {
    if (concurrency === undefined || under.size < concurrency.max) return begin(entrant);
    if (concurrency.when_busy === 'skip' || queued.length >= MAX_QUEUED) return suppress(entrant, 'busy');
    if (concurrency.when_busy === 'queue') queued.push(entrant);
    else {
      for (const other of queued) other.drop();
      queued = [entrant];
      const [oldest] = under;
      oldest?.cancel('Its trigger came again, and says when_busy: replace.').catch(() => undefined); // its end is heard of above
    }
    return { kind: 'waiting' };
  };
  const afterQuiet = (entrant: Entrant): OutsideOutcome => {
    if (cooldownMs !== undefined && clock.now() - last < cooldownMs) return suppress(entrant, 'cooldown');
    last = clock.now();
    if (delayMs === undefined) return pass(entrant);
    later(delayMs, () => pass(entrant));
    return { kind: 'waiting' };
  };
  return {
    enter(entrant) {
      if (debounceMs === undefined) return afterQuiet(entrant);
      quiet?.end();
      quiet?.entrant.drop();
      const end = later(debounceMs, () => {
        quiet = undefined;
        afterQuiet(entrant);
      });
      quiet = { end, entrant };
      return { kind: 'waiting' };
    },
    close() {
      closed = true;
      for (const cancel of timers) cancel();
      timers.clear();
      queued = [];
    },
  };
}
