import type { Cause } from '../events/event.ts';
import { toRuntimeError } from '../kernel/runtime-error.ts';
import { createConversation } from '../prompt/conversation.ts';
import { createScheduler } from '../scheduler/drive.ts';
import { armWall } from './arm-wall.ts';
import { beforeTurn } from './before-turn.ts';
import { runChat } from './chat/run-chat.ts';
import { conclude } from './conclude.ts';
import type { SessionContext } from './context.ts';
import { staysFresh, usesFeeds } from './feeds/uses-feeds.ts';
import { createGuide } from './guide/guide.ts';
import { ledResult } from './guide/led-result.ts';
import { hasHooks } from './hooks/hook-types.ts';
import { createInbox } from './inbox.ts';
import { openFeeds, openFresh, openHooks, openLead, openSessionMemory, openTriggers } from './late-parts.ts';
import { type LoopEnd, runLoop } from './loop.ts';
import { recover } from './recover.ts';
import type { SessionResult } from './runtime-types.ts';
import type { SessionEdges } from './session-edges.ts';
import { createSessionWorks, lookupOwn, runsOf, type SessionWorks } from './session-works.ts';
import { isLetGo } from './stop.ts';
import { takenIds } from './taken-ids.ts';
import { createToolNews } from './tool-news.ts';

/** One run of an agent, from its first or its last event on to its end. The log is written by nobody else. */
export async function runSession(edges: SessionEdges): Promise<SessionResult> {
  const { prepared, log, writer, stop, clock } = edges;
  const { manifest } = prepared.agent;
  const { state } = log;
  const works = createSessionWorks(edges);
  if (prepared.workflows.size > 0) runsOf(works); // events that runs wait for are passed on from the first
  if (usesFeeds(manifest) || manifest.memory?.graph !== undefined) await openParts(works);
  const { testContext, applyMetadata, reviews } = works;
  const triggers =
    prepared.triggers && (await openTriggers(edges, prepared.triggers, runsOf(works), testContext));
  const hooks = hasHooks(manifest.hooks)
    ? await openHooks(edges, (action) => works.traits(action))
    : undefined;
  works.before = hooks?.before;
  works.after = hooks?.after;
  const scheduler = createScheduler(works, works);
  works.scheduler = scheduler;
  const { feeds, memory } = works;
  const inbox = createInbox(writer, works);
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
    origin: edges.origin,
    sessionOrigin,
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
    setVariable: edges.variables.set,
    testContext,
    checkOutput: prepared.checkOutput,
    limitAbove: edges.lineage?.limits.reached,
    crashPoint: edges.crashPoint,
  };
  const conversation = createConversation(face.opening(state.seal));
  const disarm = state.chat === true ? () => undefined : armWall(context);
  // Nothing is recorded from there on, so nothing may start any more, however long the model takes to end.
  stop.on(() => {
    if (isLetGo(stop)) void scheduler.abandon(); // waited for at the end
    void feeds?.keeper.close(); // likewise
    if (stop.reason?.kind === 'cancel' && state.runs.length > 0) runsOf(works).cancelAll(stop.reason.reason);
  });
  try {
    await inbox.drain();
    if (isLetGo(stop)) return await conclude(context, conversation, { kind: 'stopped' });
    if (state.reviews.length > 0) reviews.tidy();
    if (triggers !== undefined) triggers.begin();
    else if (state.runs.length > 0) await runsOf(works).reconcile();
    const asked = edges.resumed ? conversation.rebuild(state) : undefined;
    if (edges.resumed) hooks?.catchUp();
    if (edges.resumed && feeds !== undefined && prepared.workflows.size > 0)
      await runsOf(works).ofFeeds.find();
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
    if (!isLetGo(stop)) await works.runs?.ofFeeds.end(async () => feeds?.keeper.close());
    await works.runs?.settled();
    return await conclude(context, conversation, end);
  } catch (thrown) {
    // A mistake of ours: the session ends as failed rather than hanging, and the log says why.
    stop.now({ kind: 'fail', error: toRuntimeError(thrown) });
    return await conclude(context, conversation, { kind: 'stopped' });
  } finally {
    disarm();
    triggers?.close();
    await feeds?.keeper.close();
    await works.runs?.settled();
    edges.variables.reactions?.close();
    inbox.close();
  }
}

function sessionOrigin(this: SessionContext): Cause {
  return this.origin;
}

/** What most agents have none of, loaded by those that do. */
async function openParts(works: SessionWorks): Promise<void> {
  const { edges, view, testContext } = works;
  const { manifest } = edges.prepared.agent;
  if (manifest.memory?.graph !== undefined) works.memory = await openSessionMemory(edges);
  if (!usesFeeds(manifest)) return;
  const lookup = (name: string) => lookupOwn(works, name);
  const feeds = await openFeeds(edges, { view, testContext, lookup, runWorkflow: runsOf(works).feed });
  works.feeds = feeds;
  works.fetch = feeds.keeper.fetch;
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
