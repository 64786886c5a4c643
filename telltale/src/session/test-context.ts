import type { SessionState } from '../events/state.ts';
import type { JsonObject } from '../kernel/json.ts';
import type { AgentView } from './agent-view.ts';

/** What tests read: `metadata vars actions agent`. Each part is made only when an expression looks at it. */
export function createTestContext(
  state: SessionState,
  agent: AgentView,
): () => Readonly<Record<string, unknown>> {
  // Made for the first test: most sessions have none, and objects with getters of their own are dear.
  let context: Readonly<Record<string, unknown>> | undefined;
  return () => {
    context ??= lazyContext(state, agent);
    return context;
  };
}

function lazyContext(state: SessionState, agent: AgentView): Readonly<Record<string, unknown>> {
  return {
    get metadata() {
      return state.metadata;
    },
    get vars() {
      return Object.fromEntries([...state.variables].map(([name, { value }]) => [name, value]));
    },
    get actions() {
      const actions: Record<string, JsonObject> = {};
      for (const [id, { status, output, error }] of state.actions)
        actions[id] = {
          status,
          ...(output === undefined ? {} : { output }),
          ...(error === undefined ? {} : { error: { code: error.code, message: error.message } }),
        };
      return actions;
    },
    get agent() {
      return agent();
    },
  };
}
