import type { UnderWay } from '../engine/under-way.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Runs } from './runs/create-runs.ts';
import type { Seat } from './runtime-edges.ts';
import type { DrainOptions } from './runtime-types.ts';

/** Together with what a server answers and what is closed afterwards: less than the 30 s that a stop is mostly given. */
export const DRAIN_MS = 20_000;

export interface DrainDeps {
  readonly underWay: UnderWay;
  readonly live: ReadonlySet<Seat>;
  readonly runs: Pick<Runs, 'letGoUnless'>;
  readonly clock: Clock;
}

/** Lets go of what can be gone on with elsewhere, and waits for calls that would be left in doubt. */
export async function drainRuntime(
  { underWay, live, runs, clock }: DrainDeps,
  { withinMs = DRAIN_MS, onWaiting }: DrainOptions,
): Promise<void> {
  underWay.shut();
  const letGo = () => {
    const keys = underWay.keys();
    for (const { session } of live)
      if (session !== undefined && !keys.has(session.id)) void session.interrupt();
    runs.letGoUnless((run, group) => keys.has(run) || keys.has(group));
  };
  letGo();
  if (underWay.size() === 0 || withinMs <= 0) return;
  onWaiting?.({ calls: underWay.size(), withinMs });
  await new Promise<void>((resolve) => {
    const end = () => {
      disarm();
      unheard();
      resolve();
    };
    const disarm = clock.after(withinMs, end);
    const unheard = underWay.onLeft(() => {
      letGo();
      if (underWay.size() === 0) end();
    });
  });
}
