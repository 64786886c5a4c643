import type { SessionContext } from './context.ts';
import { elapsedMs, wallReached } from './limits.ts';

/** How often a limit that a wait for a person has put off is looked at. */
const LOOK_AGAIN_MS = 1_000;

/** Ends the session when its time is over. While all of it waits for a person, time stands still. */
export function armWall({
  manifest,
  state,
  clock,
  stop,
}: Pick<SessionContext, 'manifest' | 'state' | 'clock' | 'stop'>): () => void {
  const { wall } = manifest.limits;
  if (wall === undefined) return () => undefined;
  let disarm = () => {};
  const arm = () => {
    const isWaiting = state.status === 'waiting';
    const left = wall.ms - elapsedMs(state, isWaiting ? state.at : clock.now());
    disarm = clock.after(Math.max(isWaiting ? LOOK_AGAIN_MS : 0, left), () => {
      if (state.status === 'waiting' || elapsedMs(state, clock.now()) < wall.ms) arm();
      else stop.now({ kind: 'fail', error: wallReached(wall.ms) });
    });
  };
  arm();
  return () => disarm();
}
