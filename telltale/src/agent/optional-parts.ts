import type { CompiledTriggers } from '../triggers/compile-triggers.ts';
import { invokeOf } from './artifact-service.ts';
import { sessionContext } from './decision-context.ts';
import type { FreshContextDeps } from './feeds/fresh-context.ts';
import type { SessionFeeds, SessionFeedsDeps } from './feeds/session-feeds.ts';
import { ledElsewhere } from './guided/guidance.ts';
import type { OwnGuidance } from './guided/own-guidance.ts';
import type { GuidedHooks } from './hooks/hook-types.ts';
import type { SessionHookDeps, SessionHooks } from './hooks/session-hooks.ts';
import type { SessionMemory } from './memory/session-memory.ts';
import { readEvents } from './read-session.ts';
import type { SessionRuns } from './runs/session-runs.ts';
import type { SessionDeps } from './session-edges.ts';
import type { SessionTriggers } from './triggers/session-triggers.ts';

/** The run of an agent with a workflow of its own, unless another run leads it. */
export async function openGuidance(deps: SessionDeps): Promise<OwnGuidance | undefined> {
  const { prepared, log, lead, onWaiting, runtime } = deps;
  const { workflow } = prepared.agent.manifest;
  if (lead !== undefined || log.state.led !== true) return undefined;
  if (workflow === null) throw ledElsewhere(log.state);
  const { openOwnGuidance: openOwnLead } = await import('./guided/own-guidance.ts');
  const hold = onWaiting === 'hold' || log.state.parent !== undefined;
  return openOwnLead({ ...runtime, ...deps, hold }, workflow);
}

/** Loaded by those who have some. */
export async function openTriggers(
  deps: SessionDeps,
  triggers: CompiledTriggers,
  { start, cancel }: SessionRuns,
  testContext: () => Readonly<Record<string, unknown>>,
): Promise<SessionTriggers> {
  const { log } = deps;
  const { clock, ids } = deps.runtime;
  const { createSessionTriggers } = await import('./triggers/session-triggers.ts');
  return createSessionTriggers({
    triggers,
    log,
    clock,
    ids,
    invoke: invokeOf(deps),
    testContext,
    decisionContext: () => sessionContext(log.state),
    startRun: start,
    cancelRun: cancel,
  });
}

/** So are feeds. */
export async function openFeeds(
  deps: SessionDeps,
  parts: Pick<SessionFeedsDeps, 'view' | 'testContext' | 'lookup' | 'runWorkflow' | 'isGuarded'>,
): Promise<SessionFeeds> {
  const { log, origin, runtime } = deps;
  const { createSessionFeeds } = await import('./feeds/session-feeds.ts');
  const { state } = log;
  return createSessionFeeds({
    ...runtime,
    ...deps,
    ...parts,
    state,
    // What is shown comes before its turn; that a feed is there or gone comes from what the model did in one.
    append: (body) =>
      log.append(body, body.type === 'feed.added' || body.type === 'feed.removed' ? log.here() : origin),
    async metrics() {
      const { stateMetrics } = await import('../log/state-metrics.ts');
      return stateMetrics(await readEvents(runtime.store, state.id));
    },
  });
}

/** And the knowledge graph. */
export async function openSessionMemory(deps: SessionDeps): Promise<SessionMemory | undefined> {
  const { openMemory } = await import('./memory/session-memory.ts');
  return openMemory(deps);
}

/** What has to be looked at before each turn. */
export async function openFresh(deps: FreshContextDeps): Promise<() => Promise<void> | undefined> {
  const { freshContext } = await import('./feeds/fresh-context.ts');
  return freshContext(deps);
}

/** Hooks of the workflow that leads the session: that of the run which has begun it, or of its agent's own. */
export async function openGuidedHooks({ prepared, lead }: SessionDeps): Promise<GuidedHooks | undefined> {
  const { workflow: name } = prepared.agent.manifest;
  const workflow = name === null ? undefined : prepared.workflows.get(name);
  const by = lead?.by ?? (workflow && { workflow, command: prepared.targets.command });
  if (by === undefined) return undefined;
  const { guidedHooks } = await import('./hooks/hook-types.ts');
  return guidedHooks(by);
}

/** Hooks are loaded by those who have some. */
export async function openHooks(
  deps: SessionDeps,
  traits: SessionHookDeps['traits'],
  led: GuidedHooks | undefined,
): Promise<SessionHooks | undefined> {
  const { prepared, log, stop } = deps;
  const { clock } = deps.runtime;
  const { createSessionHooks } = await import('./hooks/session-hooks.ts');
  const { command } = prepared.targets;
  const { hooks } = prepared.agent.manifest;
  return createSessionHooks({
    hooks,
    guided: led,
    log,
    stop,
    clock,
    command,
    invoke: invokeOf(deps),
    traits,
  });
}
