import type { ActionState } from '../../events/action.ts';
import { idFor, newestOf } from '../../events/action-id.ts';
import type { SessionState } from '../../events/state.ts';
import type { TaskState } from '../../events/task-state.ts';
import { suggest } from '../../kernel/nearest.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { isOfTask } from './work-of.ts';

/** Why the actions that a claim names do not prove it: each must have been done in this step, and succeeded. */
export function evidenceProblems(
  state: SessionState,
  task: TaskState,
  named: readonly string[],
): readonly RuntimeError[] {
  const { evidence: asked = [] } = task.given;
  const problems: RuntimeError[] = [];
  const done = new Set<string>();
  for (const id of named) {
    const action = state.actions.get(newestOf(state, id));
    if (action === undefined) problems.push(refused(`No action has the id "${id}".`, ids(state, task, id)));
    else if (!isOfTask(task, action))
      problems.push(refused(`The action "${id}" (${action.action.name}) was not done in this step.`, AGAIN));
    else if (action.status !== 'completed')
      problems.push(
        refused(`The action "${id}" (${action.action.name}) did not succeed: it is ${action.status}.`, AGAIN),
      );
    else done.add(action.action.name);
  }
  const missing = asked.filter((name) => !done.has(name));
  if (missing.length === 0) return problems;
  const found = missing.flatMap((name) => succeeded(state, task, name));
  const needed = refused(
    `It needs proof: name an action of ${missing.map((name) => `"${name}"`).join(' and ')} that was done in this step and succeeded.`,
    found.length === 0
      ? 'None has succeeded in this step yet: do it, look at its result, then complete the step with its id in "evidence".'
      : `Give "evidence": ${JSON.stringify(found)} if that is what proves it.`,
  );
  return [...problems, needed];
}

const succeeded = (state: SessionState, task: TaskState, name: string): readonly string[] =>
  state.recent
    .filter((id) => {
      const action: ActionState | undefined = state.actions.get(id);
      return (
        action !== undefined &&
        isOfTask(task, action) &&
        action.status === 'completed' &&
        action.action.name === name
      );
    })
    .slice(-1)
    .map((id) => idFor(state, id));

const ids = (state: SessionState, task: TaskState, id: string): string =>
  suggest(
    id,
    state.recent
      .filter((each) => {
        const action = state.actions.get(each);
        return action !== undefined && isOfTask(task, action);
      })
      .map((each) => idFor(state, each)),
    'Actions of this step',
  );

const AGAIN = 'Do it again in this step if it is needed, and name that one.';

const refused = (message: string, hint: string) =>
  new RuntimeError('evidence_refused', `The step is not completed. ${message}`, { hint });
