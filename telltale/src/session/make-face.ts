import { completesStep } from '../events/action.ts';
import type { SessionState } from '../events/state.ts';
import type { JsonObject } from '../kernel/json.ts';
import type { AgentManifest } from '../manifest/schema/kinds.ts';
import { allTargets } from '../prompt/described-target.ts';
import { type Opening, openingOf } from '../prompt/opening.ts';
import type { PartLimits } from '../prompt/part-limits.ts';
import { systemParts } from '../prompt/primer.ts';
import { isTaughtTarget } from '../prompt/taught.ts';
import { createCallNames } from '../protocol/calls/call-names.ts';
import { feedOperationOf } from '../protocol/calls/feed-calls.ts';
import type { AgentTargets } from '../targets/create-targets.ts';
import { contextFeedTarget } from './internal/feeds/context-feed.ts';
import type { InternalAction } from './internal/internal-actions.ts';
import { type PreparedCalls, prepareCalls } from './prepare-calls.ts';

/** What a session's system prompt has of the session itself. */
type Beginning = Pick<SessionState, 'seal' | 'environment'>;

/** What a session shows its model: its tools, and what stands before all turns. */
export interface Face {
  readonly internal: readonly InternalAction[];
  /** Where the model calls tools natively: the dialects `tools` and `step`. */
  readonly calls: PreparedCalls | undefined;
  readonly opening: (session: Beginning) => Opening;
}

export function makeFace(
  manifest: AgentManifest,
  targets: AgentTargets['all'],
  internal: readonly InternalAction[],
  parts: PartLimits | undefined,
  led: boolean,
  contextWindow?: number,
): Face {
  // In `step` a field of the one tool completes a step.
  const callable =
    manifest.dialect === 'step'
      ? internal.filter((action) => !completesStep({ kind: 'internal', name: action.name }))
      : internal;
  const actions = callable.map((action) => ({
    ...action,
    parameters: action.shownParameters ?? action.parameters,
    isTaught: feedOperationOf(action.name) === undefined && action.isTaught(targets),
  }));
  const feedActions = callable.filter(({ name }) => feedOperationOf(name) !== undefined);
  const isTaughtFeeds = feedActions.some((action) => action.isTaught(targets));
  const offered = [
    ...actions,
    ...(feedActions.length === 0
      ? []
      : [{ ...contextFeedTarget(feedActions, manifest, targets), isTaught: isTaughtFeeds }]),
  ];
  const names = createCallNames([
    ...targets,
    ...offered.map(({ name }) => ({ kind: 'internal' as const, name })),
  ]);
  const nativeOf = (index: number) => (manifest.dialect === 'tags' ? undefined : names.natives[index]);
  const taught = targets
    .map((target, index) => ({ ...target, native: nativeOf(index) }))
    .filter((target) => isTaughtTarget(manifest, target));
  const taughtInternal = offered
    .map((action, index) => ({ ...action, native: nativeOf(targets.length + index) }))
    .filter(({ isTaught }) => isTaught);
  const calls = prepareCalls(manifest, allTargets(taught, taughtInternal), names, led);
  const make = ({ seal, environment }: Beginning) => {
    const told = systemParts(manifest, {
      targets: taught,
      internalActions: taughtInternal,
      sealKey: seal,
      environment,
      led,
    });
    return openingOf({
      system: told.map(({ text }) => text).join(''),
      systemParts: told,
      agent: manifest,
      seal,
      parts,
      contextWindow,
      calls: calls?.style,
      tools: calls?.request.tools,
      options: optionsOf(calls),
    });
  };
  // Sessions without a seal that begin on the same day share it.
  let shared: { readonly key: string; readonly opening: Opening } | undefined;
  const opening = (session: Beginning) => {
    if (session.seal !== undefined) return make(session);
    const key = JSON.stringify(session.environment ?? null);
    if (shared?.key !== key) shared = { key, opening: make(session) };
    return shared.opening;
  };
  return { internal, calls, opening };
}

/** What every request has beside messages and tools. */
function optionsOf(calls: PreparedCalls | undefined): JsonObject {
  const toolChoice = calls?.request.toolChoice;
  return toolChoice === undefined ? {} : { toolChoice };
}
