import type { SessionContext } from './context.ts';
import { elapsedMs, wallReached } from './limits.ts';

/** Fails the session once its time is up. The returned function stops the clock: what is left then counts next time. */
export function armWall({ manifest, state, clock, stop }: SessionContext): () => void {
  const { wall } = manifest.limits;
  if (wall === undefined) return () => undefined;
  const left = wall.ms - elapsedMs(state, clock.now());
  return clock.after(Math.max(0, left), () => stop.now({ kind: 'fail', error: wallReached(wall.ms) }));
}
