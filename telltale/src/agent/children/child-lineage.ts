import { RuntimeError } from '../../lib/errors.ts';
import type { Cause, ParentRef } from '../../log/event.ts';
import { isSpeaker } from '../../log/fold-life.ts';
import type { SessionState } from '../../log/state.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import type { SessionLog } from '../session-log.ts';
import { inheritedVariables, shownVariables } from '../variables/declared-variables.ts';
import type { ChildDeps } from './child-edges.ts';
import type { LimitsAbove, Lineage } from './child-session.ts';
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

/**
 * The limits that a session's sub-agents share with it and with the sessions above it. They are asked before each turn
 * of a sub-agent, when all that was used is on the logs above: so sub-agents side by side go over a limit by no more
 * than the turns that they are in. Time needs no question: a session that comes to the end of its own cancels those
 * below it.
 */
export function limitsBelow(
  { limits }: AgentManifest,
  log: SessionLog,
  above: LimitsAbove | undefined,
): LimitsAbove {
  const { state } = log;
  const isOwn = limits.tokens !== undefined || limits.cost_usd !== undefined || state.balance !== undefined;
  return {
    isBounded: isOwn || above?.isBounded === true,
    async counted() {
      if (above?.isBounded !== true) return;
      await log.flushed();
      await above.counted();
    },
    reached: () => nothingLeft(state, limits) ?? above?.reached(),
  };
}

function nothingLeft(state: SessionState, limits: AgentManifest['limits']): RuntimeError | undefined {
  const { totals, balance } = state;
  const tokens = totals.input + totals.output;
  if (balance !== undefined && balance <= 0) return usedUp(state, 'budget', 'budget');
  if (limits.tokens !== undefined && tokens >= limits.tokens)
    return usedUp(state, 'tokens', `limit of ${limits.tokens} tokens (${tokens} used)`);
  if (limits.cost_usd !== undefined && totals.cost_usd >= limits.cost_usd)
    return usedUp(state, 'cost_usd', `limit of $${limits.cost_usd} ($${totals.cost_usd.toFixed(4)} spent)`);
  return undefined;
}

const usedUp = ({ agent, id }: SessionState, limit: string, shown: string) =>
  new RuntimeError(
    `limit_${limit}`,
    `The ${shown} of the agent "${agent}" (${id}) is used up. The agents that it calls share this limit.`,
    {
      hint:
        limit === 'budget'
          ? `Raise "budget.balance" in the manifest of "${agent}", or lower the costs.`
          : `Raise "limits.${limit}" in the manifest of "${agent}", or ask its agents for less.`,
    },
  );
