import { leadRun } from '../../session/guide/lead-run.ts';
import type { Store, StreamInfo } from '../../store/store.ts';

/** The command that has a session or a run go on: what was called by another goes on with that one. */
export async function streamToResume(
  store: Pick<Store, 'info'>,
  info: Pick<StreamInfo, 'stream' | 'kind' | 'parent'>,
): Promise<string> {
  const parent = info.parent === undefined ? undefined : await store.info(info.parent);
  // A run that a trigger set off has a session for a parent, and goes on without it; one that leads it does not.
  if (
    parent !== undefined &&
    (info.kind === 'session' || parent.kind === 'run' || info.stream === leadRun(parent.stream))
  )
    return streamToResume(store, parent);
  return `telltale ${info.kind === 'run' ? 'workflow resume' : 'resume'} ${info.stream}`;
}
