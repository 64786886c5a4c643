import type { Store, StreamInfo } from '../../store/store.ts';

/** Runs that are looked through for those of a session. */
const MAX_SEARCHED = 10_000;

/** The runs that a session or a run has set off or called, oldest first. */
export const runsOf = (store: Store, parent: string): Promise<readonly StreamInfo[]> =>
  streamsOf(store, parent, 'run');

/** The sessions of the agents that a run has work for it, oldest first. */
export const sessionsOf = (store: Store, parent: string): Promise<readonly StreamInfo[]> =>
  streamsOf(store, parent, 'session');

async function streamsOf(
  store: Store,
  parent: string,
  kind: StreamInfo['kind'],
): Promise<readonly StreamInfo[]> {
  const found = await store.list({ kind, limit: MAX_SEARCHED });
  return found.filter((each) => each.parent === parent).toReversed();
}
