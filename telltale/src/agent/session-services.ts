import { RuntimeError } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import type { DeclaredAction } from '../log/action.ts';
import type { Cause, EventBody } from '../log/event.ts';
import { LLM_USAGE } from '../log/reduce.ts';
import { openReviews } from '../log/reviews.ts';
import { clip } from '../manifest/schema/show-value.ts';
import { createEscape } from '../prompt/text.ts';
import type { PerformCall, RollbackResult, SlotCall } from '../scheduler/scheduler-deps.ts';
import { mayBeLost } from '../store/quarantine.ts';
import type { InboxMessage } from '../store/store.ts';
import type { AgentTargets } from '../tools/create-targets.ts';
import type { Target, TargetCall } from '../tools/target.ts';
import { unknownTarget } from '../tools/target-deps.ts';
import { agentView, createTestContext, NOTHING_SAID, type TestContext } from './agent-view.ts';
import { createChildRunner } from './children/child-runner.ts';
import { createIdleCallees, type IdleCallees } from './children/idle.ts';
import { costWith } from './cost.ts';
import { feedsOf } from './feeds/open-feeds.ts';
import { createCompleteStep } from './guided/complete-step.ts';
import type { SharedValues } from './inbox.ts';
import type { InternalDeps } from './internal/definition.ts';
import { notAllowed } from './internal/internal-actions.ts';
import { type ApplyMetadata, applyMetadata, beforeTurn as learnOfOthers } from './metadata-writer.ts';
import type { PreparedAgent } from './prepare-agent.ts';
import { createReviews, type Reviews } from './reviews/create-reviews.ts';
import type { SessionDeps } from './session-edges.ts';
import type { SessionLog } from './session-log.ts';
import {
  childDepsOf,
  lookupOwn,
  ordersOf,
  type Performer,
  runsOf,
  type SessionServices,
} from './session-works.ts';
import { setterOf } from './variables/session-variables.ts';

export const createSessionServices = (deps: SessionDeps): SessionServices => new LiveSessionServices(deps);

class LiveSessionServices implements SessionServices {
  readonly deps: SessionDeps;
  readonly prepared: PreparedAgent;
  readonly log: SessionLog;
  readonly state: SessionServices['state'];
  readonly stop: SessionServices['stop'];
  readonly clock: SessionServices['clock'];
  readonly random: SessionServices['random'];
  readonly crashPoint: SessionServices['crashPoint'];
  readonly approve: SessionServices['approve'];
  readonly rest: SessionServices['rest'];
  readonly chat: SessionServices['chat'];
  readonly sentBefore: number;
  readonly atRest: SessionServices['atRest'];
  readonly parallelActions: number;
  readonly actionTimeoutMs: number;
  readonly mayBeLost: SessionServices['mayBeLost'];
  readonly announceTools: (() => void) | undefined;
  /** Undefined where no other process may go on with what waits. */
  readonly isParked: ((id: string) => boolean) | undefined;
  readonly called: IdleCallees;
  reviews: Reviews;
  scheduler!: SessionServices['scheduler'];
  tests: TestContext | undefined;
  internal: SessionServices['internal'];
  noted: SessionServices['noted'];
  lastSaid: SessionServices['lastSaid'];
  orders: SessionServices['orders'];
  runs: SessionServices['runs'];
  feeds: SessionServices['feeds'];
  feedsOpening: SessionServices['feedsOpening'];
  fresh: SessionServices['fresh'];
  memory: SessionServices['memory'];
  before: SessionServices['before'];
  after: SessionServices['after'];
  fetch: SessionServices['fetch'];

  constructor(deps: SessionDeps) {
    const { prepared, log, runtime } = deps;
    const { limits } = prepared.agent.manifest;
    this.deps = deps;
    this.prepared = prepared;
    this.log = log;
    this.state = log.state;
    this.stop = deps.stop;
    this.clock = runtime.clock;
    this.random = runtime.random;
    this.crashPoint = runtime.crashPoint;
    this.approve = runtime.approve;
    this.rest = deps.rest;
    this.chat = deps.chat;
    this.sentBefore = deps.sentBefore;
    this.atRest = log.state.parent !== undefined ? 'tell' : deps.onWaiting;
    this.parallelActions = limits.parallel_actions;
    this.actionTimeoutMs = limits.action_timeout.ms;
    this.mayBeLost = mayBeLost(runtime.store);
    this.announceTools = createToolAnnouncer(prepared, log);
    this.isParked = this.atRest === 'hold' ? undefined : (id) => this.called.has(id);
    this.called = createIdleCallees(this);
    this.reviews = createReviews(this);
  }

  append(body: EventBody, cause?: Cause): Cause {
    return this.log.append(body, cause);
  }

  committed(seq: number, then: (error?: RuntimeError) => void): void {
    this.log.committed(seq, then);
  }

  committedSeq(): number {
    return this.log.committedSeq();
  }

  onFatal(error: RuntimeError, id: string, left: RollbackResult['left']): void {
    this.stop.now({ kind: 'fail', error: actionFatal(id, error, left) });
  }

  onEnded(): void {
    this.reviews.moved();
  }

  traits(action: DeclaredAction): Target | undefined {
    return findTarget(this, action);
  }

  unknownTarget(action: DeclaredAction): RuntimeError {
    return noSuchTarget(this, action);
  }

  callable(): readonly Target[] {
    return callableTargets(this);
  }

  perform(call: PerformCall): Promise<Json> {
    return performAction(this, call);
  }

  runChild(call: PerformCall): Promise<Json> {
    return createChildRunner(childDepsOf(this))(call);
  }

  runWorkflow(call: PerformCall): Promise<Json> {
    return runsOf(this).call(call);
  }

  internalDeps(): InternalDeps {
    const { deps, log } = this;
    const { prepared } = deps;
    return {
      state: log.state,
      manifest: prepared.agent.manifest,
      append: (body) => log.append(body),
      setVariable: setterOf(deps.variables),
      artifactStore: prepared.artifactStore,
      rollback: (to, by, signal) => this.scheduler.rollback(to, log.here(), { by, signal }),
      cancel: (id, reason) => this.scheduler.cancel(reason, [id]),
      completeStep: createCompleteStep(log, () => this.scheduler),
      feeds: async () => (await feedsOf(this)).service,
      memory: async () => this.memory?.open() ?? noMemory(),
    };
  }

  requestApproval(call: Parameters<Reviews['clear']>[0]): ReturnType<Reviews['clear']> {
    return this.reviews.clear(call);
  }

  awaitsPerson(id: string): boolean {
    return openReviews(this.log.state).some(({ action }) => action === id);
  }

  takeSlot({ key, max, signal }: SlotCall): (() => void) | Promise<() => void> {
    const { runtime, group } = this.deps;
    return runtime.slots.take(key, max, { group, signal });
  }

  enterNonIdempotent(): (() => void) | undefined {
    const { runtime, group } = this.deps;
    return runtime.underWay.enter(group);
  }

  lookup(name: string): Json | undefined {
    return this.feeds?.keeper.value(name) ?? lookupOwn(this, name);
  }

  view(): JsonObject {
    const { prepared, runtime, lineage } = this.deps;
    return agentView({
      state: this.log.state,
      prepared,
      env: runtime.env,
      parent: lineage?.view,
      said: this.lastSaid?.now() ?? NOTHING_SAID,
    });
  }

  /** What tests read. */
  context(): TestContext {
    this.tests ??= createTestContext(this.log.state, () => this.view());
    return this.tests;
  }

  applyMetadata(...update: Parameters<ApplyMetadata>): void {
    applyMetadata(this, ...update);
  }

  takeOrder(message: InboxMessage): boolean {
    return ordersOf(this).take(message);
  }

  takeValues({ vars, metadata }: SharedValues, cause: Cause): void {
    const setVariable = setterOf(this.deps.variables);
    for (const [name, value] of Object.entries(vars))
      setVariable(name, value, 'model', { as: 'parent', cause });
    if (Object.keys(metadata).length > 0) this.applyMetadata(metadata, 'parent', cause);
  }

  beforeTurn(): Promise<void> | undefined {
    this.announceTools?.();
    return learnOfOthers(this.deps);
  }
}

function noMemory(): never {
  throw new RuntimeError('not_permitted', 'The agent has no knowledge graph.', {
    hint: 'Set its folder in the manifest: "memory: { graph: FOLDER }".',
  });
}

function actionFatal(id: string, cause: RuntimeError, left: RollbackResult['left']): RuntimeError {
  const failed = `The action "${id}" failed, and says on_error: fail. ${cause.message}`;
  return new RuntimeError('action_failed', failed + notUndone(left), { hint: cause.hint, cause });
}

/** Ids of what could not be undone that a message names. */
const MOST_NAMED = 10;

function notUndone(left: RollbackResult['left']): string {
  if (left.length === 0) return '';
  const more = left.length > MOST_NAMED ? ` and ${left.length - MOST_NAMED} more` : '';
  return `\nWhat was to be undone then, and is not: ${left.slice(0, MOST_NAMED).join(', ')}${more}.`;
}

/** Tools that are described; those beyond are named. */
const MAX_DESCRIBED = 20;
const MAX_LINE = 4_000;
const MAX_NAMED = 100;

/**
 * Tells the model, before a turn and once, that an MCP server lists other tools than the system prompt, which is fixed.
 * Undefined for an agent without such servers. Where the model calls tools natively it is only told of those that are
 * gone: what it can call there stands before the conversation, and would have to be rewritten.
 */
function createToolAnnouncer(prepared: PreparedAgent, log: SessionLog): (() => void) | undefined {
  if (prepared.targets.deps.servers.size === 0) return undefined;
  let told = prepared.targets;
  return () => {
    const latest = latestOf(told);
    if (latest === told) return;
    const text = toolChanges(told.all, latest.all, prepared.agent.manifest.dialect === 'tags');
    told = latest;
    if (text !== '')
      log.append({ type: 'message.received', from: 'runtime', text: createEscape(log.state.seal)(text) });
  };
}

/** One that cannot be made is no news: the next session hears what is wrong with it. */
function latestOf(told: AgentTargets): AgentTargets {
  try {
    return told.latest();
  } catch {
    return told;
  }
}

function toolChanges(before: readonly Target[], now: readonly Target[], tellsNew: boolean): string {
  const known = new Map(before.map((target) => [target.name, target]));
  const left = new Set(now.map(({ name }) => name));
  const gone = before.filter(({ name }) => !left.has(name)).map(({ name }) => `"${name}"`);
  const fresh = tellsNew ? now.filter((target) => !isSame(known.get(target.name), target)) : [];
  const lines = [
    ...(gone.length === 0 ? [] : [`No longer there: ${listed(gone)}.`]),
    ...fresh.slice(0, MAX_DESCRIBED).map((target) => describe(target, known.has(target.name))),
    ...(fresh.length > MAX_DESCRIBED
      ? [`Also new: ${listed(fresh.slice(MAX_DESCRIBED).map(({ name }) => `"${name}"`))}.`]
      : []),
  ];
  return lines.length === 0 ? '' : `What you can call has changed.\n${lines.join('\n')}`;
}

const isSame = (one: Target | undefined, other: Target): boolean =>
  one === other ||
  (one !== undefined &&
    one.description === other.description &&
    JSON.stringify(one.parameters) === JSON.stringify(other.parameters));

function describe({ kind, name, description, parameters }: Target, wasThere: boolean): string {
  const words = clip(description.replaceAll(/\s+/g, ' ').trim(), MAX_LINE);
  return `- ${wasThere ? 'Changed' : 'New'}: type ${kind}, name ${JSON.stringify(name)}: ${words} Parameters: ${clip(JSON.stringify(parameters), MAX_LINE)}`;
}

const listed = (names: readonly string[]): string =>
  names.length > MAX_NAMED
    ? `${names.slice(0, MAX_NAMED).join(', ')}, … (${names.length} in all)`
    : names.join(', ');

const modelInterfaceOf = ({ prepared, log }: Performer) => prepared.face(log.state.led === true);

function internalOf(performer: Performer): ReadonlyMap<string, Target> {
  if (performer.internal === undefined) {
    const deps = performer.internalDeps();
    const { internal } = modelInterfaceOf(performer);
    performer.internal = new Map(internal.map((action) => [action.name, action.bind(deps)]));
  }
  return performer.internal;
}

const findTarget = (performer: Performer, { kind, name }: DeclaredAction): Target | undefined =>
  kind === 'internal' ? internalOf(performer).get(name) : performer.prepared.targets.find(kind, name);

/** All that the session's actions can call. */
const callableTargets = (performer: Performer): readonly Target[] => [
  ...performer.prepared.targets.all,
  ...internalOf(performer).values(),
];

function noSuchTarget(performer: Performer, { kind, name }: DeclaredAction): RuntimeError {
  const { agent, targets } = performer.prepared;
  const blocked = kind === 'internal' ? notAllowed(name, agent.manifest) : undefined;
  if (blocked !== undefined) return blocked;
  const { calls } = modelInterfaceOf(performer);
  if (calls !== undefined) {
    const { offered: listed, style } = calls;
    const all = style.names.natives.map((native) => ({ kind: 'tool' as const, name: native }));
    return unknownTarget('tool', name, { all, listed });
  }
  return unknownTarget(kind, name, { all: [...targets.all, ...internalOf(performer).values()] });
}

function performAction(performer: Performer, call: PerformCall): Promise<Json> {
  const { prepared, log, crashPoint } = performer;
  const { action, attempt } = call;
  const target = performer.traits(action);
  if (target === undefined) return Promise.reject(performer.unknownTarget(action));
  const cost = prepared.agent.manifest.budget?.costs.action ?? 0;
  const { balance } = log.state;
  if (cost > 0 && attempt === 1 && balance !== undefined)
    log.append({ type: 'budget.charged', what: 'action', amount: cost, balance: balance - cost });
  crashPoint?.(`perform:${action.id}`);
  const start = (grants?: readonly string[]) =>
    target.kind === 'agent'
      ? performer.runChild(call)
      : target.kind === 'workflow'
        ? performer.runWorkflow(call)
        : target.run(toTargetCall(performer, call, grants));
  const leave = performer.reviews.granted(call);
  const running = leave === undefined ? start() : leave.then(start);
  if (crashPoint === undefined) return running;
  return running.finally(() => crashPoint(`performed:${action.id}`));
}

function note(performer: Performer, what: string): void {
  performer.noted ??= new Set();
  if (performer.noted.has(what)) return;
  performer.noted.add(what);
  performer.log.append({ type: 'audit', who: 'runtime', what });
}

function toTargetCall(
  performer: Performer,
  { action: { id }, input, attempt, signal }: PerformCall,
  granted: readonly string[] | undefined,
): TargetCall {
  const { log } = performer;
  const { id: session } = log.state;
  return {
    session,
    id,
    input,
    attempt,
    signal,
    idempotencyKey: `${session}:${id}`,
    granted,
    agent: () => performer.view(),
    note: (what) => note(performer, what),
    charge(usage, model) {
      const data = { action: id, model: model.id, ...usage, cost_usd: costWith(model, usage) };
      log.append({ type: 'custom', name: LLM_USAGE, data });
    },
    progress(data) {
      if (log.watched) log.show({ type: 'action.progress', session, turn: log.state.turn, id, data });
    },
  };
}
