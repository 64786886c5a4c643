import type { Json, JsonObject } from '../lib/json.ts';
import type { ActionState, ActionStatus } from '../log/action.ts';
import type { SessionState } from '../log/state.ts';
import type { DecisionContext } from '../tools/artifacts/artifacts.ts';

/** What `recent_actions` goes back to. */
const RECENT = 10;

/** What decisions of a session are given: small, and nothing of its memory. */
export function sessionContext(state: SessionState): DecisionContext {
  const recent = state.recent.slice(-RECENT).flatMap((id) => state.actions.get(id) ?? []);
  const ended = recent.filter(({ status }) => ENDED.has(status));
  const good = ended.filter(({ status }) => !BAD.has(status));
  return {
    agent_id: state.agent,
    current_state: null,
    step_name: null,
    balance: state.balance ?? null,
    success_rate: ended.length === 0 ? 1 : good.length / ended.length,
    recent_actions: recent.map(shown),
    last_result: ended.findLast(({ output }) => output !== undefined)?.output ?? null,
    metadata: { ...state.metadata },
    variables: variableValues(state),
  };
}

const BAD: ReadonlySet<ActionStatus> = new Set(['failed', 'interrupted']);
const ENDED: ReadonlySet<ActionStatus> = new Set(['completed', 'compensated', ...BAD]);

const shown = ({ action, status, error }: ActionState): JsonObject => ({
  id: action.id,
  name: action.name,
  status,
  ...(error === undefined ? {} : { error: error.code }),
});

export const variableValues = ({ variables }: Pick<SessionState, 'variables'>): Record<string, Json> =>
  Object.fromEntries([...variables].map(([name, { value }]) => [name, value]));
