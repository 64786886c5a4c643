import type { SessionState } from '../events/state.ts';
import type { JsonObject } from '../kernel/json.ts';

export type TestContext = Readonly<Record<string, unknown>>;

/** What tests read: `metadata vars actions agent`. Each part is made only when an expression looks at it. */
export function createTestContext(state: SessionState, agent: () => JsonObject): TestContext {
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
