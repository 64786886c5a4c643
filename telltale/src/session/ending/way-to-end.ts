import { readRun } from '../../engine/read-run.ts';
import type { Store, StreamInfo } from '../../store/store.ts';
import { leadRun } from '../guide/lead-run.ts';
import { hasEnded } from './has-ended.ts';

/**
 * How a run ends that nobody works on. What has completed may have to be undone, which takes the run's agent; one that
 * was called is its caller's to end.
 */
export async function wayToEnd(
  store: Store,
  { stream, parent }: Pick<StreamInfo, 'stream' | 'parent'>,
): Promise<'at once' | 'by working on it' | 'by its caller'> {
  const { steps } = await readRun(store, stream);
  if (![...steps.values()].some(({ status }) => status === 'completed')) return 'at once';
  const caller = parent === undefined ? undefined : await store.info(parent);
  // Its session has ended without it, and nobody else can work on it.
  if (caller !== undefined && stream === leadRun(caller.stream) && hasEnded(caller.status)) return 'at once';
  return caller?.kind === 'run' ? 'by its caller' : 'by working on it';
}
