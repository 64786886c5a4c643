import type { TelltaleClient } from '../../../telltale/src/client/client.ts';
import type { SessionEvent } from '../../../telltale/src/log/event.ts';
import { emptySummary, foldSummary, type SessionSummary } from '../../../telltale/src/log/session-summary.ts';
import { createLiveCollection, type LiveCollection } from './live-collection.ts';
import { createLiveLists, type LiveLists } from './live-lists.ts';

export interface SessionFilter {
  readonly status?: readonly SessionSummary['status'][];
  readonly agent?: string;
}

export interface SessionLists extends LiveLists<SessionFilter, SessionSummary> {
  readonly collection: LiveCollection<SessionSummary, SessionEvent>;
}

const PAGE = 100;

export function createSessionLists(client: TelltaleClient, settled: Promise<void>): SessionLists {
  const collection = createLiveCollection<SessionSummary, SessionEvent>({
    empty: emptySummary,
    fold: foldSummary,
    idOf: ({ session }) => session,
    revives: ({ type }) => type === 'session.resumed',
    fetchOne: (id) => client.session(id),
  });
  const lists = createLiveLists<SessionFilter, SessionSummary, SessionEvent>({
    collection,
    settled,
    fetchPage: (filter, cursor) =>
      client.sessions({ ...filter, limit: PAGE, ...(cursor === undefined ? {} : { cursor }) }),
    matches: ({ status, agent }, row) =>
      (status === undefined || status.includes(row.status)) && (agent === undefined || agent === row.agent),
  });
  return { ...lists, collection };
}
