import type { Cause } from '../../events/event.ts';
import { isSpeaker } from '../../events/fold-life.ts';
import type { ParentRef } from '../../events/life-event.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import { inheritedVariables, shownVariables } from '../variables/inherited-variables.ts';
import type { ChildDeps } from './child-edges.ts';
import { limitsBelow } from './limits-above.ts';
import type { Lineage } from './lineage.ts';
import { sharedFields, valuesOf } from './shared-metadata.ts';

/** What a sub-agent gets of the session that calls it. Its own manifest says what it inherits. */
export function childLineage(
  { prepared, log, lineage: above }: Pick<ChildDeps, 'prepared' | 'log' | 'lineage'>,
  child: AgentManifest,
  parent: ParentRef,
  cause: Cause | undefined,
): Lineage {
  const { state } = log;
  const { manifest } = prepared.agent;
  const { inherit } = child.metadata;
  const shared = sharedFields(manifest, child);
  return {
    parent,
    group: above?.group ?? state.id,
    cause,
    sharedFields: shared,
    shared: valuesOf(state.metadata, shared),
    shown: inherit === 'read' ? { ...state.metadata } : undefined,
    variables: inheritedVariables(manifest, child, state, isSpeaker(parent)),
    shownVariables: shownVariables(manifest, child, state),
    user: state.user,
    view:
      inherit === 'none'
        ? undefined
        : () => ({ session_id: state.id, agent_name: state.agent, metadata: { ...state.metadata } }),
    balance: state.balance,
    limits: limitsBelow(manifest, log, above?.limits),
  };
}
