import type { ActionStatus } from '../../../events/action.ts';
import type { SessionState } from '../../../events/state.ts';
import type { Json } from '../../../kernel/json.ts';

/** A session in figures. */
export function sessionStats(state: SessionState, now: number): Json {
  const { id, agent, model, turn, startedAt, totals, actions, feeds } = state;
  const byStatus: Partial<Record<ActionStatus, number>> = {};
  for (const { status } of actions.values()) byStatus[status] = (byStatus[status] ?? 0) + 1;
  return {
    session: id,
    agent,
    model,
    status: state.status,
    turn,
    elapsed_ms: Math.max(0, now - startedAt),
    tokens: { input: totals.input, output: totals.output },
    cost_usd: totals.cost_usd,
    actions: byStatus,
    feeds: feeds.size,
  };
}
