import type { SessionState } from '../../events/state.ts';
import type { TaskState } from '../../events/task-state.ts';

/** The same call with the same input, and turns in a row without anything new. */
const MAX_REPEATS = 3;
const MAX_BARREN = 5;

/** Why the agent does not come further with its task, at the end of a turn; undefined where it does. */
export function whyStuck(state: SessionState, task: TaskState): string | undefined {
  const repeated = task.tried.find(({ times }) => times >= MAX_REPEATS);
  if (repeated !== undefined) {
    const known = state.actions.get(repeated.id);
    const name = known === undefined ? repeated.what : `${known.action.kind} "${known.action.name}"`;
    return `You have called ${name} with the same input ${repeated.times} times in this step.`;
  }
  if (task.fresh || state.open.size > 0) return undefined;
  const barren = task.barren + 1;
  return barren >= MAX_BARREN ? `The last ${barren} turns of this step have changed nothing.` : undefined;
}
