import type { AgentManifest } from '../manifest/schema/kinds.ts';
import { exposedVariables } from './exposed-variables.ts';
import { MIN_SHOWN } from './limits.ts';
import type { PartLimits } from './part-limits.ts';
import type { BlockStyle } from './render-block.ts';
import { createEscape } from './text.ts';

/** How the blocks of a session are written. */
export const blockStyle = (
  agent: AgentManifest,
  seal: string | undefined,
  parts: PartLimits | undefined,
): BlockStyle => ({
  safe: createEscape(seal),
  canReadOutput: mayReadOutput(agent),
  maxResult: maxResultOf(agent),
  metadata: agent.metadata,
  variables: exposedVariables(agent),
  dialect: agent.dialect,
  parts,
});

/** Characters of one result that the model is shown. */
export const maxResultOf = ({ limits }: AgentManifest): number => Math.max(MIN_SHOWN, limits.result.bytes);

/** Whether the manifest lets the model see the rest of a long result. */
export function mayReadOutput({ internal_actions: internal }: AgentManifest): boolean {
  if (!internal.enabled || internal.blocked_actions.includes('read_output')) return false;
  return internal.allowed_actions === undefined || internal.allowed_actions.includes('read_output');
}
