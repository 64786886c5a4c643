import type { RunState } from '../../events/run-state.ts';
import type { SessionState } from '../../events/state.ts';

/** A folded state as JSON: maps as objects, sets as lists. Without the key that a session's tags are sealed with. */
export function stateJson(state: SessionState | RunState): string {
  const { seal: _, ...shown } = state as Partial<SessionState>;
  return JSON.stringify(shown, (_key, value: unknown) =>
    value instanceof Map ? Object.fromEntries(value) : value instanceof Set ? [...value] : value,
  );
}
