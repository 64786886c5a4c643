import type { AgentManifest } from '../manifest/schema/kinds.ts';
import type { SessionContext } from './context.ts';
import { elapsedMs, wallReached } from './limits.ts';

/** How soon a session that waits for a person, or undoes what it has done, is looked at again. */
const LOOK_AGAIN_MS = 1_000;

interface Walled extends Pick<SessionContext, 'state' | 'clock' | 'stop'> {
  readonly manifest: Pick<AgentManifest, 'limits'>;
}

/** Fails the session once its time is up. The returned function stops the clock: what is left then counts next time. */
export function armWall(context: Walled): () => void {
  const { wall } = context.manifest.limits;
  return wall === undefined ? nothing : armed(context, wall.ms);
}

function nothing(): void {
  // no clock runs
}

function armed({ state, clock, stop }: Walled, wallMs: number): () => void {
  let disarm = () => {};
  const arm = () => {
    // While all of it waits for a person, time stands still.
    const isWaiting = state.status === 'waiting';
    const left = wallMs - elapsedMs(state, isWaiting ? state.at : clock.now());
    const soonest = isWaiting || state.failing !== undefined ? LOOK_AGAIN_MS : 0;
    disarm = clock.after(Math.max(soonest, left), () => {
      // One that fails already undoes what was done before, which has limits of its own: half of it is worse than none.
      const goesOn = state.status === 'waiting' || state.failing !== undefined;
      if (goesOn || elapsedMs(state, clock.now()) < wallMs) arm();
      else stop.now({ kind: 'fail', error: wallReached(state, wallMs) });
    });
  };
  arm();
  return () => disarm();
}
