import type { PlannedAction } from '../../../events/run-event.ts';
import type { PlanState } from '../../../events/run-state.ts';
import type { Json } from '../../../kernel/json.ts';

/** An action that gave something, whether or not that was expected. Its place among these is its place in `results`. */
export interface DoneAction {
  readonly nth: number;
  readonly index: number;
  readonly planned: PlannedAction;
  readonly output: Json;
  readonly held: boolean;
}

/** What was done so far for these plans, by the log. */
export const doneIn = (plans: readonly PlanState[]): readonly DoneAction[] =>
  plans.flatMap(({ nth, plan, acts }) =>
    plan.flatMap((planned, index) => {
      const end = acts.get(index)?.end;
      return end?.output === undefined
        ? []
        : [{ nth, index, planned, output: end.output, held: end.held } satisfies DoneAction];
    }),
  );
