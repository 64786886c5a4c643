import type { SessionState } from '../../../../../telltale/src/log/state.ts';

/** The run of the agent's own workflow that guides the session. Undefined if there is none. */
export const ownLead = ({
  id,
  led,
  parent,
}: Pick<SessionState, 'id' | 'led' | 'parent'>): string | undefined =>
  led === true && parent === undefined ? `${id}~lead` : undefined;
