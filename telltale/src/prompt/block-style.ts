import type { AgentManifest } from '../manifest/schema/kinds.ts';
import { createEscape } from './escape.ts';
import { exposedVariables } from './exposed-variables.ts';
import { mayReadOutput } from './may-read-output.ts';
import type { PartLimits } from './part-limits.ts';
import type { BlockStyle } from './render-block.ts';

/** How the blocks of a session are written. */
export const blockStyle = (
  agent: AgentManifest,
  seal: string | undefined,
  parts: PartLimits | undefined,
): BlockStyle => ({
  safe: createEscape(seal),
  canReadOutput: mayReadOutput(agent),
  metadata: agent.metadata,
  variables: exposedVariables(agent),
  dialect: agent.dialect,
  parts,
});
