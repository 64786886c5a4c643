import type { TelltaleClient } from '../../../telltale/src/client/client.ts';
import type { RunEvent } from '../../../telltale/src/log/run-event.ts';
import { emptyRunSummary, foldRunSummary, type RunSummary } from '../../../telltale/src/log/run-summary.ts';
import { createLiveCollection, type LiveCollection } from './live-collection.ts';
import { createLiveLists, type LiveLists } from './live-lists.ts';

export interface RunFilter {
  readonly session?: string;
  readonly workflow?: string;
  readonly status?: readonly RunSummary['status'][];
}

export interface RunLists extends LiveLists<RunFilter, RunSummary> {
  readonly collection: LiveCollection<RunSummary, RunEvent>;
}

const PAGE = 100;

export function createRunLists(client: TelltaleClient, settled: Promise<void>): RunLists {
  const collection = createLiveCollection<RunSummary, RunEvent>({
    empty: emptyRunSummary,
    fold: foldRunSummary,
    idOf: ({ run }) => run,
    revives: ({ type }) => type === 'workflow.resumed',
    fetchOne: (id) => client.run(id),
  });
  const lists = createLiveLists<RunFilter, RunSummary, RunEvent>({
    collection,
    settled,
    fetchPage: (filter, cursor) =>
      client.runs({ ...filter, limit: PAGE, ...(cursor === undefined ? {} : { cursor }) }),
    matches: ({ session, workflow, status }, row) =>
      (session === undefined || session === row.session) &&
      (workflow === undefined || workflow === row.workflow) &&
      (status === undefined || status.includes(row.status)),
  });
  return { ...lists, collection };
}
