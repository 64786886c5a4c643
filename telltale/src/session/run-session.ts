import type { SessionState } from '../events/state.ts';
import { RuntimeError, toRuntimeError } from '../kernel/runtime-error.ts';
import { createConversation } from '../prompt/conversation.ts';
import { createScheduler } from '../scheduler/drive.ts';
import type { Scheduler } from '../scheduler/scheduler.ts';
import { mayBeLost } from '../store/may-be-lost.ts';
import { createAgentView } from './agent-view.ts';
import { armWall } from './arm-wall.ts';
import { beforeTurn } from './before-turn.ts';
import { runChat } from './chat/run-chat.ts';
import { createChildRunner, type RunChild } from './children/child-runner.ts';
import { createCalledAtRest } from './children/rest.ts';
import { conclude } from './conclude.ts';
import type { SessionContext } from './context.ts';
import { noFeeds, noMemory, staysFresh, usesFeeds } from './feeds/uses-feeds.ts';
import { createCompleteStep } from './guide/complete-step.ts';
import { createGuide } from './guide/guide.ts';
import { ledResult } from './guide/led-result.ts';
import { hasHooks } from './hooks/hook-types.ts';
import { createInbox } from './inbox.ts';
import { openFeeds, openFresh, openHooks, openLead, openSessionMemory, openTriggers } from './late-parts.ts';
import { type LoopEnd, runLoop } from './loop.ts';
import { createMetadataWriter } from './metadata-writer.ts';
import { createPerformer } from './perform.ts';
import { recover } from './recover.ts';
import { createReviews, type Reviews } from './reviews/create-reviews.ts';
import { createSessionOrders, type SessionOrders } from './runs/session-orders.ts';
import { createSessionRuns, type SessionRuns } from './runs/session-runs.ts';
import type { SessionResult } from './runtime-types.ts';
import type { SessionEdges } from './session-edges.ts';
import { isLetGo } from './stop.ts';
import { takenIds } from './taken-ids.ts';
import { createTestContext } from './test-context.ts';
import { createToolNews } from './tool-news.ts';

/** One run of an agent, from its first or its last event on to its end. The log is written by nobody else. */
export async function runSession(edges: SessionEdges): Promise<SessionResult> {
  const { prepared, log, writer, stop, clock } = edges;
  const { manifest } = prepared.agent;
  const { state } = log;
  const view = createAgentView({ state, prepared, env: edges.env, parent: edges.lineage?.view });
  const testContext = createTestContext(state, view);
  const applyMetadata = createMetadataWriter(prepared.metadata, manifest.metadata, manifest.name, log);
  const { set: setVariable, reactions } = edges.variables;
  const called = createCalledAtRest(() => reviews.moved());
  // Most agents call no other and have no workflows: what serves those is made for the first, 3 KB a session.
  const runChild: RunChild = (call) =>
    createChildRunner({ ...edges, called, applyMetadata, setVariable })(call);
  let madeOrders: SessionOrders | undefined;
  const orders = () => {
    madeOrders ??= createSessionOrders({ log, workflows: prepared.workflows, applyMetadata, setVariable });
    return madeOrders;
  };
  let madeRuns: SessionRuns | undefined;
  const sessionRuns = () => {
    madeRuns ??= createSessionRuns({ ...edges, orders: orders() });
    return madeRuns;
  };
  if (prepared.workflows.size > 0) sessionRuns(); // events that runs wait for are passed on from the first
  const performer = createPerformer(
    {
      ...{ prepared, log, view, runChild },
      granted: (call) => reviews.granted(call),
      runWorkflow: (call) => sessionRuns().call(call),
      crashPoint: edges.crashPoint,
    },
    () => ({
      state,
      manifest,
      append: (body) => log.append(body),
      setVariable,
      desk: prepared.desk,
      rollback: (to) => scheduler.rollback(to, log.here()),
      cancel: (id, reason) => scheduler.cancel(reason, [id]),
      completeStep: createCompleteStep(log, () => scheduler),
      feeds: async () => feeds?.desk ?? noFeeds(),
      memory: async () => memory?.open() ?? noMemory(),
    }),
  );
  const memory = manifest.memory?.graph === undefined ? undefined : await openSessionMemory(edges);
  const lookup = (name: string) => state.variables.get(name)?.value ?? ownField(state, name);
  const feeds = usesFeeds(manifest)
    ? await openFeeds(edges, { view, testContext, lookup, runWorkflow: sessionRuns().feed })
    : undefined;
  const triggers =
    prepared.triggers && (await openTriggers(edges, prepared.triggers, sessionRuns(), testContext));
  const hooks = hasHooks(manifest.hooks) ? await openHooks(edges, performer.traits) : undefined;
  const reviews: Reviews = createReviews({
    log,
    stop,
    clock,
    scheduler: () => scheduler,
    find: performer.traits,
    agent: view,
    approve: edges.approve,
    called,
    rest: edges.rest,
    atRest: state.parent !== undefined ? 'tell' : edges.onWaiting,
  });
  const scheduler: Scheduler = createScheduler(
    {
      parallelActions: manifest.limits.parallel_actions,
      actionTimeoutMs: manifest.limits.action_timeout.ms,
      state,
      onFatal: (error, id) => stop.now({ kind: 'fail', error: actionFatal(id, error) }),
      onEnded: reviews.moved,
    },
    {
      clock,
      random: edges.random,
      append: (body, cause) => log.append(body, cause),
      committed: (seq, then) => log.committed(seq, then),
      mayBeLost: mayBeLost(edges.store),
      ...performer,
      clear: reviews.clear,
      ...(reviews.goesOnElsewhere ? { rests: called.has } : {}),
      slot: ({ key, max, signal }) => edges.takeSlot(key, max, signal),
      once: edges.enterOnce,
      ...(hooks === undefined ? {} : { before: hooks.before, after: hooks.after }),
      lookup: feeds === undefined ? lookup : (name) => feeds.keeper.value(name) ?? lookup(name),
      ...(feeds === undefined ? {} : { fetch: feeds.keeper.fetch }),
      context: testContext,
    },
  );
  const inbox = createInbox(writer, {
    ...{ log, stop, reviews, talk: edges.talk, sentBefore: edges.sentBefore },
    takeOrder: (message) => orders().take(message),
  });
  const own = await openLead(edges);
  const lead = edges.lead ?? own?.lead;
  const face = prepared.face(state.led === true);
  const context: SessionContext = {
    manifest,
    guide:
      lead &&
      createGuide({
        ...{ lead, log, stop, resumed: edges.resumed },
        resultOf: (output) => ledResult(state, manifest, output),
      }),
    state,
    log,
    scheduler,
    stop,
    reviews,
    hooks,
    fresh: staysFresh(manifest)
      ? await openFresh({ manifest, log, testContext, feeds, memory, origin: () => edges.origin })
      : undefined,
    parts: prepared.parts,
    inbox,
    sessionOrigin: () => edges.origin,
    clock,
    random: edges.random,
    store: edges.store,
    model: edges.model,
    fastModel: prepared.fastModel,
    ids: takenIds(state),
    spareParser: undefined,
    calls: face.calls,
    toAction: prepared.toAction,
    applyMetadata,
    setVariable,
    testContext,
    checkOutput: prepared.checkOutput,
    limitAbove: edges.lineage?.limits.reached,
    crashPoint: edges.crashPoint,
  };
  const conversation = createConversation(face.opening(state.seal));
  const disarm = state.chat === true ? () => undefined : armWall(context);
  // Nothing is recorded from there on, so nothing may start any more, however long the model takes to end.
  stop.onStop(() => {
    if (isLetGo(stop)) void scheduler.abandon(); // waited for at the end
    void feeds?.keeper.close(); // likewise
    if (stop.reason?.kind === 'cancel' && state.runs.length > 0) sessionRuns().cancelAll(stop.reason.reason);
  });
  try {
    await inbox.drain();
    if (isLetGo(stop)) return await conclude(context, conversation, { kind: 'stopped' });
    if (state.reviews.length > 0) reviews.tidy();
    if (triggers !== undefined) triggers.begin();
    else if (state.runs.length > 0) await sessionRuns().reconcile();
    const asked = edges.resumed ? conversation.rebuild(state) : undefined;
    if (edges.resumed) hooks?.catchUp();
    if (edges.resumed && feeds !== undefined && prepared.workflows.size > 0)
      await sessionRuns().ofFeeds.find();
    feeds?.keeper.begin();
    memory?.begin();
    const left = edges.resumed ? recover(context, asked?.tokens ?? 0) : undefined;
    const tellTools = createToolNews(prepared, log);
    const refresh = () => {
      tellTools?.();
      return beforeTurn(edges);
    };
    const end =
      state.chat === true
        ? await runChat(context, conversation, { left, beforeTurn: refresh, inbox, talk: edges.talk })
        : await runLoop(context, conversation, left, refresh);
    await own?.close(end);
    // What a load still brings belongs to no turn any more, and what it costs would stand behind the session's end.
    await feeds?.keeper.close();
    await variablesOut(edges, end);
    if (end.kind === 'completed') triggers?.end();
    if (end.kind !== 'stopped') await memory?.note();
    // A session that has completed is not taken up again: what it has set off must be there before, or have ended.
    if (!isLetGo(stop)) await madeRuns?.ofFeeds.end(async () => feeds?.keeper.close());
    await madeRuns?.settled();
    return await conclude(context, conversation, end);
  } catch (thrown) {
    // A mistake of ours: the session ends as failed rather than hanging, and the log says why.
    stop.now({ kind: 'fail', error: toRuntimeError(thrown) });
    return await conclude(context, conversation, { kind: 'stopped' });
  } finally {
    disarm();
    triggers?.close();
    await feeds?.keeper.close();
    await madeRuns?.settled();
    reactions?.close();
    inbox.close();
  }
}

/** What is still to be decided or kept of the variables belongs to the session, unless somebody ended it. */
async function variablesOut(
  { variables: { keeper, reactions }, stop }: SessionEdges,
  end: LoopEnd,
): Promise<void> {
  if (end.kind === 'stopped' || stop.reason !== undefined) return;
  await reactions?.settled();
  await keeper?.settled();
}

const ownField = (state: SessionState, name: string) =>
  Object.hasOwn(state.metadata, name) ? state.metadata[name] : undefined;

const actionFatal = (id: string, cause: RuntimeError) =>
  new RuntimeError('action_failed', `The action "${id}" failed, and says on_error: fail. ${cause.message}`, {
    hint: cause.hint,
    cause,
  });
