import { completesStep } from '../events/action.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';
import { type Opening, openingOf } from '../prompt/opening.ts';
import type { PartLimits } from '../prompt/part-limits.ts';
import { systemPrompt } from '../prompt/primer.ts';
import type { AgentTargets } from '../targets/create-targets.ts';
import type { InternalAction } from './internal/internal-actions.ts';
import { type PreparedCalls, prepareCalls } from './prepare-calls.ts';

/** What a session shows its model: its tools, and what stands before all turns. */
export interface Face {
  readonly internal: readonly InternalAction[];
  /** Where the model calls tools natively: the dialects `tools` and `step`. */
  readonly calls: PreparedCalls | undefined;
  readonly opening: (seal: string | undefined) => Opening;
}

export function makeFace(
  manifest: AgentManifest,
  targets: AgentTargets['all'],
  internal: readonly InternalAction[],
  parts: PartLimits | undefined,
  led: boolean,
): Face {
  // In `step` a field of the one tool completes a step.
  const callable =
    manifest.dialect === 'step'
      ? internal.filter((action) => !completesStep({ kind: 'internal', name: action.name }))
      : internal;
  const calls = prepareCalls(manifest, targets, callable, led);
  const openingFor = (seal: string | undefined) => {
    const system = systemPrompt(manifest, {
      targets,
      internalActions: callable,
      sealKey: seal,
      callNames: calls?.style.names,
      led,
    });
    return openingOf({
      ...{ system, agent: manifest, seal, parts },
      calls: calls?.style,
      tools: calls?.request.tools,
    });
  };
  const unsealed = openingFor(undefined);
  return { internal, calls, opening: (seal) => (seal === undefined ? unsealed : openingFor(seal)) };
}
