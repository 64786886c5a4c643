import type { AgentManifest } from '../manifest/schema/kinds.ts';

/** Whether the manifest lets the model see the rest of a long result. */
export function mayReadOutput({ internal_actions: internal }: AgentManifest): boolean {
  if (!internal.enabled || internal.blocked_actions.includes('read_output')) return false;
  return internal.allowed_actions === undefined || internal.allowed_actions.includes('read_output');
}
