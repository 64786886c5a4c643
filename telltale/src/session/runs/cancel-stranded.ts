import type { RunState } from '../../events/run-state.ts';
import { RuntimeError, toRuntimeError } from '../../kernel/runtime-error.ts';
import { cancelUnownedRun } from '../ending/cancel-unowned.ts';
import { wayToEnd } from '../ending/way-to-end.ts';
import { type GroundDeps, readGround } from './realm.ts';
import type { RunBoard } from './run-board.ts';
import type { RunsDeps } from './run-edges.ts';
import { workflowsOf } from './workflow-catalog.ts';

/** What says that the definition of a run is another by now: nobody with this one can ever go on with it. */
const CHANGED: ReadonlySet<string> = new Set(['manifest_changed', 'no_workflow']);

/**
 * Ends a run that nobody works on and that this process could not go on with, at once: a message would wait for ever in
 * its inbox. False where somebody can end it as it should be. Throws where its steps may have to be undone, and what says
 * how is not there.
 */
export async function cancelStranded(
  deps: Pick<RunsDeps, 'store' | 'clock'> & GroundDeps & { readonly board: RunBoard },
  state: RunState,
  reason: string,
  by: string,
): Promise<boolean> {
  const { store, clock, board } = deps;
  const info = await store.info(state.id);
  if (info === undefined || info.owner !== undefined || board.find(state.id)?.ground !== undefined)
    return false;
  const missing = await missingOf(deps, state);
  if (missing === undefined) return false;
  const way = await wayToEnd(store, info);
  if (way === 'at once') return (await cancelUnownedRun(store, state.id, { reason, by, clock })) !== 'owned';
  if (way === 'by working on it' && CHANGED.has(missing.code)) throw cannotUndo(state);
  return false;
}

async function missingOf(deps: GroundDeps, state: RunState): Promise<RuntimeError | undefined> {
  try {
    const { agent } = await readGround(state, deps);
    if (workflowsOf(agent).has(state.workflow)) return undefined;
    return new RuntimeError('no_workflow', `There is no workflow "${state.workflow}" any more.`);
  } catch (thrown) {
    return toRuntimeError(thrown);
  }
}

const cannotUndo = ({ id, manifest: { path } }: RunState) =>
  new RuntimeError(
    'manifest_changed',
    `${id} has completed steps, which may have to be undone, and the manifest ${path} is not the one that it started with.`,
    {
      hint: `Restore the manifest and cancel again, or end the run without undoing anything: telltale cancel ${id} --force`,
    },
  );
