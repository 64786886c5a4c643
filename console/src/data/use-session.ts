import { useEffect, useState } from 'react';
import type { RunSummary } from '../../../telltale/src/events/run-summary.ts';
import type { SessionSummary } from '../../../telltale/src/events/session-summary.ts';
import { type ErrorJson, toRuntimeError } from '../../../telltale/src/kernel/runtime-error.ts';
import type { LiveCollection } from './live-collection.ts';
import type { Loadable } from './loadable.ts';
import { useReadable } from './readable.ts';
import { useData } from './use-data.ts';

/** A session's summary, live; read from the server if no list has shown it yet. */
export const useSession = (id: string): Loadable<SessionSummary> => useRow(useData().sessions.collection, id);

export const useRun = (id: string): Loadable<RunSummary> => useRow(useData().runs.collection, id);

function useRow<Row, Event>(
  collection: Pick<LiveCollection<Row, Event>, 'rows' | 'find' | 'want'>,
  id: string,
): Loadable<Row> {
  useReadable(collection.rows);
  const [failed, setFailed] = useState<{ id: string; error: ErrorJson }>();
  useEffect(() => {
    let here = true;
    collection.want(id).catch((thrown: unknown) => {
      if (here) setFailed({ id, error: toRuntimeError(thrown).toJSON() });
    });
    return () => {
      here = false;
    };
  }, [collection, id]);
  const value = collection.find(id);
  if (value !== undefined) return { kind: 'ready', value };
  return failed?.id === id ? { kind: 'failed', error: failed.error } : { kind: 'loading' };
}
