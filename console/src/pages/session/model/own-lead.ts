import type { SessionState } from '../../../../../telltale/src/log/state.ts';

/** The run of the agent's own workflow, which leads the session; undefined where none does. */
export const ownLead = ({
  id,
  led,
  parent,
}: Pick<SessionState, 'id' | 'led' | 'parent'>): string | undefined =>
  led === true && parent === undefined ? `${id}~lead` : undefined;
