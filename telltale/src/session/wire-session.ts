import type { Cause } from '../events/event.ts';
import { withMethods } from '../kernel/with-methods.ts';
import { type Conversation, createConversation } from '../prompt/conversation.ts';
import { createScheduler } from '../scheduler/drive.ts';
import { armWall } from './arm-wall.ts';
import type { SessionContext } from './context.ts';
import { createSessionWorks } from './create-session-works.ts';
import { openFreshParts } from './feeds/open-feeds.ts';
import { createGuide } from './guide/guide.ts';
import { ledResult } from './guide/led-result.ts';
import type { OwnLead } from './guide/own-lead.ts';
import type { Thread, Wired } from './handoffs/thread.ts';
import { hasHooks } from './hooks/hook-types.ts';
import { createInbox, type Inbox } from './inbox.ts';
import { leadsThread } from './internal/handoff.ts';
import { followSaid } from './last-said.ts';
import { openHooks, openLead, openLedHooks, openSessionMemory, openTriggers } from './late-parts.ts';
import type { TriggerReactions } from './reactions/trigger-reactions.ts';
import type { SessionDeps } from './session-edges.ts';
import { runsOf, type SessionWorks } from './session-works.ts';
import { isLetGo } from './stop.ts';
import { endTurnInHand } from './turn/hearing-state.ts';

/** A session whose parts are there, and have done nothing yet. */
export interface WiredSession {
  readonly works: SessionWorks;
  readonly context: SessionContext;
  readonly conversation: Conversation;
  readonly inbox: Inbox;
  readonly triggers: TriggerReactions | undefined;
  /** The run that leads it, where that is the agent's own workflow. */
  readonly own: OwnLead | undefined;
  /** Where the conversation may move to other agents. */
  readonly thread: Thread | undefined;
  readonly disarm: () => void;
  /** The session's `stop` tells it, also of a session that is over: what it has set off may still run. */
  stopped(): void;
}

const METHODS = { stopped };

/** Makes the parts of one run of an agent. The log is written by nobody else. */
export async function wireSession(deps: SessionDeps): Promise<WiredSession> {
  const { prepared, log, writer, stop, runtime } = deps;
  const { manifest } = prepared.agent;
  const { state } = log;
  const works = createSessionWorks(deps);
  works.said = await followSaid(log, runtime.store, deps.resumed);
  if (prepared.workflows.size > 0) runsOf(works); // events that runs wait for are passed on from the first
  if (manifest.memory?.graph !== undefined) works.memory = await openSessionMemory(deps);
  await openFreshParts(works);
  const { reviews } = works;
  const testContext = () => works.context();
  const triggers =
    prepared.triggers && (await openTriggers(deps, prepared.triggers, runsOf(works), testContext));
  const led = state.led === true ? await openLedHooks(deps) : undefined;
  const hooks =
    led !== undefined || hasHooks(manifest.hooks)
      ? await openHooks(deps, (action) => works.traits(action), led)
      : undefined;
  works.before = hooks?.before;
  works.after = hooks?.after;
  works.scheduler = createScheduler(works, works);
  const inbox = createInbox(writer, works);
  const own = await openLead(deps);
  const lead = deps.lead ?? own?.lead;
  const face = prepared.face(state.led === true);
  const context: SessionContext = {
    // A copy: docs/decisions/copies.md
    deps,
    manifest,
    guide:
      lead &&
      createGuide({
        lead,
        log,
        stop,
        resumed: deps.resumed,
        resultOf: (output) => ledResult(state, manifest, output),
      }),
    state,
    log,
    scheduler: works.scheduler,
    stop,
    reviews,
    hooks,
    inbox,
    sessionOrigin,
    clock: runtime.clock,
    model: deps.model,
    earlier: { has: (id: string) => works.scheduler.isTaken(id) },
    asker: undefined,
    spareParser: undefined,
    calls: face.calls,
    works,
  };
  const conversation = createConversation(face.opening(state));
  const thread = leadsThread(manifest, state)
    ? await openThread({ works, context, conversation, inbox })
    : undefined;
  const disarm = state.chat === true ? () => undefined : armWall(context);
  const wired = withMethods<WiredSession, keyof typeof METHODS>(METHODS, {
    // A copy: docs/decisions/copies.md
    works,
    context,
    conversation,
    inbox,
    triggers,
    own,
    thread,
    disarm,
  });
  stop.on(wired);
  return wired;
}

/** Nothing is recorded from there on, so nothing may start any more, however long the model takes to end. */
function stopped(this: WiredSession): void {
  const { works, context } = this;
  const { stop } = works;
  const { reason } = stop;
  if (isLetGo(stop)) void works.scheduler.abandon(); // waited for at the end
  void works.feeds?.keeper.close(); // likewise
  if (reason?.kind === 'cancel' && works.log.state.runs.length > 0) runsOf(works).cancelAll(reason.reason);
  endTurnInHand(context);
}

function sessionOrigin(this: SessionContext): Cause {
  return this.deps.origin;
}

/** Loaded by agents that may hand over. */
async function openThread(wired: Wired): Promise<Thread> {
  const { Thread: Made } = await import('./handoffs/thread.ts');
  return new Made(wired);
}
