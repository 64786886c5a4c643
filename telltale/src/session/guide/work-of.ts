import { type ActionState, completesStep } from '../../events/action.ts';
import type { SessionState } from '../../events/state.ts';
import type { TaskState } from '../../events/task-state.ts';
import type { Json } from '../../kernel/json.ts';
import type { WorkedAction } from '../../workflows/guided/task.ts';

/** Actions that a verifier is shown, the last ones, and characters of each value. */
const MAX_ACTIONS = 50;
const MAX_VALUE = 2_000;

/** Whether an action belongs to the task in hand, and is not the one that ends it. */
export const isOfTask = ({ since }: TaskState, { action, turn }: ActionState): boolean =>
  turn > since && !completesStep(action);

/** What was done for the task in hand. */
export function workOf(state: SessionState, task: TaskState): readonly WorkedAction[] {
  const recent = state.recent.slice(-2 * MAX_ACTIONS).flatMap((id) => state.actions.get(id) ?? []);
  return recent
    .filter((each) => isOfTask(task, each))
    .slice(-MAX_ACTIONS)
    .map(({ action, status, input, output, error }) => ({
      id: action.id,
      name: action.name,
      status,
      input: bounded(input ?? action.parameters),
      output: bounded(output ?? (error as Json | undefined) ?? null),
    }));
}

function bounded(value: Json): Json {
  const text = JSON.stringify(value);
  if (text.length <= MAX_VALUE) return value;
  return `${text.slice(0, MAX_VALUE)}… [${text.length - MAX_VALUE} characters left out]`;
}
