import type { Clock } from '../../kernel/clock.ts';
import type { OutsideTrigger } from '../../triggers/outside-triggers.ts';
import type { OutsideOutcome, WorkflowRun } from './run-types.ts';

/** Runs of one trigger that wait for others to end. */
const MAX_QUEUED = 1_000;

/**
 * The pace of one trigger that no session watches over. What waits here is in this process only: a schedule that was
 * missed is not made up for, and whoever posts to a hook is told that it only waits.
 */
export interface Turnstile {
  enter(start: () => WorkflowRun): OutsideOutcome;
  close(): void;
}

export function createTurnstile(clock: Clock, pacing: OutsideTrigger['pacing']): Turnstile {
  const { debounceMs, cooldownMs, delayMs, concurrency } = pacing;
  const under = new Set<WorkflowRun>();
  const timers = new Set<() => void>();
  let queued: (() => WorkflowRun)[] = [];
  let quiet: (() => void) | undefined;
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
  const begin = (start: () => WorkflowRun): OutsideOutcome => {
    const run = start();
    under.add(run);
    const over = () => {
      under.delete(run);
      const next = closed ? undefined : queued.shift();
      if (next !== undefined) begin(next);
    };
    run.result.then(over, over);
    return { kind: 'started', run: run.id };
  };
  const pass = (start: () => WorkflowRun): OutsideOutcome => {
    if (concurrency === undefined || under.size < concurrency.max) return begin(start);
    if (concurrency.when_busy === 'skip' || queued.length >= MAX_QUEUED)
      return { kind: 'suppressed', reason: 'busy' };
    if (concurrency.when_busy === 'queue') queued.push(start);
    else {
      queued = [start];
      const [oldest] = under;
      oldest?.cancel('Its trigger came again, and says when_busy: replace.').catch(() => undefined); // its end is heard of above
    }
    return { kind: 'waiting' };
  };
  const afterQuiet = (start: () => WorkflowRun): OutsideOutcome => {
    if (cooldownMs !== undefined && clock.now() - last < cooldownMs)
      return { kind: 'suppressed', reason: 'cooldown' };
    last = clock.now();
    if (delayMs === undefined) return pass(start);
    later(delayMs, () => pass(start));
    return { kind: 'waiting' };
  };
  return {
    enter(start) {
      if (debounceMs === undefined) return afterQuiet(start);
      quiet?.();
      quiet = later(debounceMs, () => {
        quiet = undefined;
        afterQuiet(start);
      });
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
