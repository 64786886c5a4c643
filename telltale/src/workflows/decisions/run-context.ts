import { stepName } from '../../events/reduce-run.ts';
import type { RunState, StepState } from '../../events/run-state.ts';
import type { JsonObject } from '../../kernel/json.ts';
import type { DecisionContext } from '../../targets/artifacts/artifacts.ts';
import type { OwnExpressions } from '../own-expressions.ts';

/** What `recent_actions` goes back to. */
const RECENT = 10;

/**
 * What decisions of a run are given: its steps are its actions. `metadata` is the session's, as of the run's start, or
 * nothing where no session is involved; `below` are the agent's variables, which those of the run hide, and
 * `expressions` what follows from all of them.
 */
export function runContext(
  state: RunState,
  step: string | null,
  metadata: JsonObject = {},
  below: JsonObject = {},
  expressions?: OwnExpressions,
): DecisionContext {
  const variables: JsonObject = { ...below, ...Object.fromEntries(state.variables) };
  const ended = [...state.steps.values()].filter(({ status }) => ENDED.has(status));
  const good = ended.filter(({ status }) => !BAD.has(status));
  return {
    agent_id: state.manifest.agent,
    current_state: state.state ?? null,
    step_name: step,
    balance: state.balance ?? null,
    success_rate: ended.length === 0 ? 1 : good.length / ended.length,
    recent_actions: ended.slice(-RECENT).map(shown),
    last_result: ended.findLast(({ output }) => output !== undefined)?.output ?? null,
    metadata,
    variables:
      expressions === undefined ? variables : { ...variables, ...expressions.over(variables, metadata) },
  };
}

const BAD: ReadonlySet<StepState['status']> = new Set(['failed', 'interrupted']);
const ENDED: ReadonlySet<StepState['status']> = new Set(['completed', 'compensated', ...BAD]);

const shown = ({ step, status, error }: StepState): JsonObject => ({
  id: step,
  name: stepName(step),
  status,
  ...(error === undefined ? {} : { error: error.code }),
});
