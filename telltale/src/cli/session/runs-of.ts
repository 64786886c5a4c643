import type { Store, StreamInfo } from '../../store/store.ts';

/** Streams that are looked through for those of one. */
const MAX_SEARCHED = 10_000;

/** The runs that a session or a run has set off or called, oldest first. */
export async function runsOf(store: Store, parent: string): Promise<readonly StreamInfo[]> {
  const found = await store.list({ kind: 'run', limit: MAX_SEARCHED });
  return found.filter((each) => each.parent === parent).toReversed();
}

/** The sessions that work for a run, oldest first. */
export async function sessionsOf(store: Store, run: string): Promise<readonly StreamInfo[]> {
  const found = await store.list({ kind: 'session', limit: MAX_SEARCHED });
  return found.filter((each) => each.parent === run).toReversed();
}
