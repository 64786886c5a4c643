import type { AgentManifest } from '../manifest/schema/kinds.ts';
import type { CallStyle } from '../prompt/calls/call-style.ts';
import { callTools } from '../prompt/calls/call-tools.ts';
import type { DescribedTarget } from '../prompt/described-target.ts';
import { allTargets, type PrimerOptions } from '../prompt/primer.ts';
import type { PromptTool } from '../prompt/prompt.ts';
import { createCallNames, STEP } from '../protocol/calls/call-names.ts';
import type { TargetKind } from '../targets/target.ts';
import { takenIds } from './taken-ids.ts';

/** What an agent's model is given to call natively; the same in every turn of every session. */
export interface PreparedCalls {
  readonly style: CallStyle;
  readonly request: { readonly tools: readonly PromptTool[]; readonly toolChoice?: string };
}

/** Undefined in the dialect `tags`, in which nothing is called natively. */
export function prepareCalls(
  manifest: AgentManifest,
  targets: readonly (DescribedTarget & { readonly kind: TargetKind })[],
  internalActions: PrimerOptions['internalActions'],
  led: boolean,
): PreparedCalls | undefined {
  const { dialect, protocol } = manifest;
  if (dialect === 'tags') return undefined;
  const all = allTargets(targets, internalActions);
  const names = createCallNames(all.map(({ kind, name }) => ({ kind: kind as TargetKind, name })));
  const tools = callTools(manifest, all, names, led);
  return {
    style: { dialect, names, maxBody: protocol.max_body.bytes, takenIds, led },
    request: dialect === 'step' ? { tools, toolChoice: STEP } : { tools },
  };
}
