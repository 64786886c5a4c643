import { createDistantSession } from '../../session/distant/distant-session.ts';
import type { Session } from '../../session/runtime-types.ts';
import type { ServerDeps } from '../server-edges.ts';

/** Sessions that other processes work on. */
export interface Elsewhere {
  /** Behind the event `after`. */
  session(id: string, after: number): Session<unknown>;
  /** How a session goes on that this process lets go of; undefined where no other would take it. */
  of(id: string): ((after: number) => Session<unknown>) | undefined;
}

export function createElsewhere({
  runtime,
  clock,
  onError,
}: Pick<ServerDeps, 'runtime' | 'clock' | 'onError'>): Elsewhere {
  const session = (id: string, after: number) =>
    createDistantSession({ runtime, clock }, id, { after, onError });
  return {
    session,
    of: (id) => (runtime.store.shared === undefined ? undefined : (after) => session(id, after)),
  };
}
