import { openQuestions, questionOf } from '../../events/fold-client.ts';
import type { ClientTask, RunState } from '../../events/run-state.ts';
import { childKey } from '../../workflows/steps/child-key.ts';
import type { QuestionRef, Standing } from './client-types.ts';
import { committedRun, type ViewDeps } from './client-view.ts';

/** `root` is the run that nobody called, above the question's own. */
export async function standingOf(
  deps: ViewDeps,
  root: string,
  state: RunState,
  ref: QuestionRef,
): Promise<Standing> {
  const task = questionOf(state, ref);
  if (task === undefined) return { kind: 'withdrawn', why: 'it was never put.' };
  if (task.claim !== undefined)
    return (await claimedSince(deps, root, task.claim)) ? { kind: 'passed' } : { kind: 'accepted', task };
  if (openQuestions(state).includes(task)) return { kind: 'open', task };
  const { status, attempts = 0 } = state.steps.get(ref.step) ?? {};
  const why = attempts > ref.attempt ? 'it was begun anew.' : `it is ${status ?? 'gone'}.`;
  return { kind: 'withdrawn', why };
}

/** Whether any question of the run, or of one that it called, was answered after that one. */
async function claimedSince(
  deps: ViewDeps,
  run: string,
  claim: NonNullable<ClientTask['claim']>,
): Promise<boolean> {
  const state = await committedRun(deps, run);
  for (const { claim: other } of state.client ?? []) {
    if (other === undefined || other === claim) continue;
    const isSameRun = (state.client ?? []).some((task) => task.claim === claim);
    if (isSameRun ? other.seq > claim.seq : other.at > claim.at) return true;
  }
  const own = new Set((state.client ?? []).map(({ step }) => step));
  for (const { step, status } of state.steps.values()) {
    if (own.has(step) || status === 'skipped') continue;
    const called = childKey(state, step, 'run');
    if ((await deps.store.info(called))?.kind !== 'run') continue;
    if (await claimedSince(deps, called, claim)) return true;
  }
  return false;
}
