import type { AgentManifest } from '../manifest/schema/kinds.ts';
import type { CallStyle } from '../prompt/calls/call-style.ts';
import { callTools } from '../prompt/calls/call-tools.ts';
import type { DescribedTarget } from '../prompt/described-target.ts';
import type { PromptTool } from '../prompt/prompt.ts';
import { type CallNames, STEP } from '../protocol/calls/call-names.ts';
import { takenIds } from './taken-ids.ts';

/** What an agent's model is given to call natively; the same in every turn of every session. */
export interface PreparedCalls {
  readonly style: CallStyle;
  /** The names of what the model is offered. */
  readonly offered: readonly string[];
  readonly request: { readonly tools: readonly PromptTool[]; readonly toolChoice?: string };
}

/**
 * `taught` is what the model is offered; `names` also has what it can call without being told. Undefined in the dialect
 * `tags`, in which nothing is called natively.
 */
export function prepareCalls(
  manifest: AgentManifest,
  taught: readonly DescribedTarget[],
  names: CallNames,
  led: boolean,
): PreparedCalls | undefined {
  const { dialect, protocol } = manifest;
  if (dialect === 'tags') return undefined;
  const tools = callTools(manifest, taught, led);
  return {
    style: { dialect, names, maxBody: protocol.max_body.bytes, takenIds, led },
    offered: taught.flatMap(({ native }) => native ?? []),
    request: dialect === 'step' ? { tools, toolChoice: STEP } : { tools },
  };
}
