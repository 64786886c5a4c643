import type { RuntimeError } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import type { DeclaredAction } from '../log/action.ts';
import type { ActionScheduler } from '../scheduler/action-scheduler.ts';
import type { PerformCall, SchedulerDeps, SchedulerOptions } from '../scheduler/scheduler-deps.ts';
import type { Target } from '../tools/target.ts';
import type { LastSaid, TestContext } from './agent-view.ts';
import type { ChildDeps } from './children/child-edges.ts';
import type { IdleCallees } from './children/idle.ts';
import type { SessionFeeds } from './feeds/session-feeds.ts';
import type { InboxDeps } from './inbox.ts';
import type { InternalDeps } from './internal/definition.ts';
import type { SessionMemory } from './memory/session-memory.ts';
import type { ApplyMetadata } from './metadata-writer.ts';
import type { PreparedAgent } from './prepare-agent.ts';
import type { ReviewDeps, Reviews } from './reviews/create-reviews.ts';
import { createSessionCommands, type SessionCommands } from './runs/session-commands.ts';
import { createSessionRuns, type SessionRuns } from './runs/session-runs.ts';
import type { SessionDeps } from './session-edges.ts';
import type { SessionLog } from './session-log.ts';
import { setterOf } from './variables/session-variables.ts';

/** What a session needs to call targets. */
export interface Performer {
  readonly prepared: PreparedAgent;
  readonly log: SessionLog;
  view(): JsonObject;
  readonly reviews: Pick<Reviews, 'granted'>;
  readonly crashPoint: ((name: string) => void) | undefined;
  /** The internal actions. They are bound when the first one is called, because most sessions call none. */
  internal: Map<string, Target> | undefined;
  /** The notes that are already on the log, because each is written once. */
  noted: Set<string> | undefined;
  traits(action: DeclaredAction): Target | undefined;
  unknownTarget(action: DeclaredAction): RuntimeError;
  runChild(call: PerformCall): Promise<Json>;
  runWorkflow(call: PerformCall): Promise<Json>;
  internalDeps(): InternalDeps;
}

/**
 * What the parts of a session at work have of each other: one object that its scheduler, its reviews and its inbox depend
 * on.
 */
export interface SessionServices extends SchedulerDeps, SchedulerOptions, Performer, ReviewDeps, InboxDeps {
  readonly deps: SessionDeps;
  readonly log: SessionDeps['log'];
  readonly crashPoint: Performer['crashPoint'];
  /** Made for the first test: most sessions have none, and objects with getters of their own are dear. */
  tests: TestContext | undefined;
  applyMetadata: ApplyMetadata;
  /** Where the agent has MCP servers: tells the model that they list other tools than before. */
  readonly announceTools: (() => void) | undefined;
  beforeTurn(): Promise<void> | undefined;
  readonly called: IdleCallees;
  /** What `${agent.thoughts}` and `${agent.responses}` show. */
  lastSaid: { readonly now: () => LastSaid } | undefined;
  reviews: Reviews;
  /** Made once all that it starts with is there. */
  scheduler: ActionScheduler;
  // Most agents call no other, have no workflows, no feeds and no memory: what serves those is made for the first.
  orders: SessionCommands | undefined;
  runs: SessionRuns | undefined;
  feeds: SessionFeeds | undefined;
  feedsOpening: Promise<SessionFeeds> | undefined;
  /** Where the session has feeds or a memory: puts on the log what the coming turn is shown of them. */
  fresh: (() => Promise<void> | undefined) | undefined;
  memory: SessionMemory | undefined;
  before: SchedulerDeps['before'];
  after: SchedulerDeps['after'];
  fetch: SchedulerDeps['fetch'];
  traits: Performer['traits'];
  callable(): readonly Target[];
}

/** What runs ask of the session. */
export function ordersOf(services: SessionServices): SessionCommands {
  const { deps, log } = services;
  services.orders ??= createSessionCommands({
    log,
    workflows: deps.prepared.workflows,
    applyMetadata: (...update) => services.applyMetadata(...update),
    setVariable: setterOf(deps.variables),
  });
  return services.orders;
}

/** The workflow runs that it starts. */
export function runsOf(services: SessionServices): SessionRuns {
  services.runs ??= createSessionRuns({
    ...services.deps.runtime,
    ...services.deps,
    orders: ordersOf(services),
  });
  return services.runs;
}

/** What a name stands for where it is no feed's. */
export function lookupOwn({ log: { state } }: SessionServices, name: string): Json | undefined {
  const known = state.variables.get(name)?.value;
  return known ?? (Object.hasOwn(state.metadata, name) ? state.metadata[name] : undefined);
}

/** What the sessions below this one need of it. */
export const childDepsOf = (services: SessionServices): ChildDeps => ({
  ...services.deps.runtime,
  ...services.deps,
  called: services.called,
  setVariable: setterOf(services.deps.variables),
  applyMetadata: (...update) => services.applyMetadata(...update),
});
