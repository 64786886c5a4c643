import { stepName } from '../../log/reduce-run.ts';
import type { RunState } from '../../log/run-state.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import { openActions } from '../../workflows/guided/plan/plan-case.ts';
import { allSteps } from '../../workflows/machine/composite.ts';
import { childKey } from '../../workflows/steps/call-below.ts';
import type { RunsDeps } from './run-environment.ts';
import { RUN_CANCEL } from './run-messages.ts';

const ALIVE: ReadonlySet<string> = new Set(['running', 'waiting']);

/**
 * Ends the runs and sessions that steps of a run had called and that were not waited for in this process: a run that
 * only waits is taken up to be cancelled, and its steps are not begun again for it.
 */
export async function endCalled(
  { store, engine }: RunsDeps,
  state: RunState,
  workflow: WorkflowManifest,
): Promise<void> {
  let types: ReadonlyMap<string, string> | undefined;
  const end = (called: string) =>
    endIfLeft({ store, engine }, called, state.id, 'The run that called it has ended.');
  for (const known of state.steps.values()) {
    if (known.status !== 'cancelled') continue;
    types ??= new Map(allSteps(workflow).map(({ name, type }) => [name, type]));
    const type = types.get(stepName(known.step));
    if (type === 'workflow') await end(childKey(state, known.step, 'run'));
    else if (type === 'agent') await end(childKey(state, known.step, 'ses'));
    else if (type === 'plan')
      for (const action of openActions(known))
        for (const called of new Set(PREFIXES.map((prefix) => childKey(state, action, prefix))))
          await end(called);
  }
}

/** What an action of a plan calls has one of these; which of them, the plan alone does not say. */
const PREFIXES = ['run', 'ses'] as const;

/** Ends a run or a session that is there and that nobody works on. */
export async function endIfLeft(
  { store, engine }: Pick<RunsDeps, 'store' | 'engine'>,
  called: string,
  by: string,
  reason: string,
): Promise<void> {
  const info = await store.info(called);
  if (info === undefined || !ALIVE.has(info.status) || info.owner !== undefined) return;
  const message = { kind: RUN_CANCEL, from: by, body: reason };
  if (info.kind === 'run') await engine.signal('run', called, message);
  else await store.send(called, message);
}
