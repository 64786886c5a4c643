import { stepName } from '../../events/reduce-run.ts';
import type { RunState } from '../../events/run-state.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import { allSteps } from '../../workflows/all-steps.ts';
import { childKey } from '../../workflows/steps/child-key.ts';
import type { RunsEdges } from './run-edges.ts';
import { RUN_CANCEL } from './run-messages.ts';

const ALIVE: ReadonlySet<string> = new Set(['running', 'waiting']);

/**
 * Ends the runs and sessions that steps of a run had called and that were not waited for in this process: a run that
 * only waits is taken up to be cancelled, and its steps are not begun again for it.
 */
export async function endCalled(
  { store, engine }: RunsEdges,
  state: RunState,
  workflow: WorkflowManifest,
): Promise<void> {
  const types = new Map([...allSteps(workflow)].map(({ name, type }) => [name, type]));
  for (const { step, status } of state.steps.values()) {
    const type = types.get(stepName(step));
    if (status !== 'cancelled' || (type !== 'workflow' && type !== 'agent')) continue;
    const kind = type === 'workflow' ? 'run' : 'session';
    const called = childKey(state, step, type === 'workflow' ? 'run' : 'ses');
    const info = await store.info(called);
    if (info === undefined || !ALIVE.has(info.status) || info.owner !== undefined) continue;
    const message = { kind: RUN_CANCEL, from: state.id, body: 'The run that called it has ended.' };
    if (kind === 'run') await engine.signal('run', called, message);
    else await store.send(called, message);
  }
}
