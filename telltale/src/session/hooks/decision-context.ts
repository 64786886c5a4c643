import { hasEnded } from '../../events/action.ts';
import type { SessionState } from '../../events/state.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';
import type { DecisionContext } from '../../targets/artifacts/artifacts.ts';

/** What `recent_actions` goes back to. */
const RECENT = 10;

/** What a decision of a session is given: small, and never another's. */
export function decisionContext(state: SessionState): DecisionContext {
  const recent = state.recent.slice(-RECENT).flatMap((id) => state.actions.get(id) ?? []);
  const ended = recent.filter(({ status }) => hasEnded(status) && status !== 'skipped');
  const good = ended.filter(({ status }) => status === 'completed' || status === 'compensated');
  return {
    agent_id: state.agent,
    current_state: null,
    step_name: null,
    balance: state.balance ?? null,
    success_rate: ended.length === 0 ? 1 : good.length / ended.length,
    recent_actions: recent.map(
      ({ action, status }): JsonObject => ({ id: action.id, name: action.name, status }),
    ),
    last_result: ended.findLast(({ output }) => output !== undefined)?.output ?? null,
    metadata: { ...state.metadata },
    variables: variablesOf(state),
  };
}

export const variablesOf = ({ variables }: SessionState): Record<string, Json> =>
  Object.fromEntries([...variables].map(([name, { value }]) => [name, value]));
