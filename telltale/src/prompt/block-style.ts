import type { AgentManifest } from '../manifest/schema/kinds.ts';
import { createEscape } from './escape.ts';
import { exposedVariables } from './exposed-variables.ts';
import { MIN_SHOWN } from './limits.ts';
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
  maxResult: maxResultOf(agent),
  metadata: agent.metadata,
  variables: exposedVariables(agent),
  dialect: agent.dialect,
  parts,
});

/** Characters of one result that the model is shown. */
export const maxResultOf = ({ limits }: AgentManifest): number => Math.max(MIN_SHOWN, limits.result.bytes);
