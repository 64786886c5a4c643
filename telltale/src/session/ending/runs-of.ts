import type { Store, StreamInfo } from '../../store/store.ts';

/** The runs that a session or a run has set off or called, oldest first. */
export const runsOf = (store: Store, parent: string): Promise<readonly StreamInfo[]> =>
  streamsOf(store, parent, 'run');

/** The sessions of the agents that a run has work for it, oldest first. */
export const sessionsOf = (store: Store, parent: string): Promise<readonly StreamInfo[]> =>
  streamsOf(store, parent, 'session');

const streamsOf = async (store: Store, parent: string, kind: StreamInfo['kind']) =>
  (await store.list({ kind, parent })).toReversed();
