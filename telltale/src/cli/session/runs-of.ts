import type { Store, StreamInfo } from '../../store/store.ts';

/** Runs that are looked through for those of a session. */
const MAX_SEARCHED = 10_000;

/** The runs that a session or a run has set off or called, oldest first. */
export async function runsOf(store: Store, parent: string): Promise<readonly StreamInfo[]> {
  const found = await store.list({ kind: 'run', limit: MAX_SEARCHED });
  return found.filter((each) => each.parent === parent).toReversed();
}
