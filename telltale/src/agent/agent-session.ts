import { type ErrorJson, RuntimeError } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import { usageOf } from '../log/event.ts';
import type { GivenTask } from '../log/session-events.ts';
import type { SessionState, TaskState } from '../log/state.ts';
import { type Conversation, createConversation } from '../prompt/conversation.ts';
import { createScheduler } from '../scheduler/action-scheduler.ts';
import type { Task, TaskReport } from '../workflows/guided/task.ts';
import { followSaid } from './agent-view.ts';
import { openFreshParts } from './feeds/open-feeds.ts';
import { workOf } from './guided/complete-step.ts';
import type { Guidance, GuidanceEnd, GuidanceStanding, Guide, GuidedEnd, Used } from './guided/guidance.ts';
import { guidedResult } from './guided/guidance.ts';
import type { OwnGuidance } from './guided/own-guidance.ts';
import type { Thread, Wired } from './handoffs/thread.ts';
import { hasHooks } from './hooks/hook-types.ts';
import { createInbox, type Inbox } from './inbox.ts';
import { leadsThread } from './internal/handoff.ts';
import { armWall } from './limits.ts';
import {
  openGuidance,
  openGuidedHooks,
  openHooks,
  openSessionMemory,
  openTriggers,
} from './optional-parts.ts';
import type { SessionContext } from './session-context.ts';
import type { SessionDeps } from './session-edges.ts';
import type { SessionLog } from './session-log.ts';
import { createSessionServices } from './session-services.ts';
import { runsOf, type SessionServices } from './session-works.ts';
import { isReleased, type Stop } from './stop.ts';
import type { SessionTriggers } from './triggers/session-triggers.ts';
import { endCurrentStream } from './turn/active-turn.ts';

/** A session whose parts are there, and have done nothing yet. */
export interface AgentSession {
  readonly services: SessionServices;
  readonly context: SessionContext;
  readonly conversation: Conversation;
  readonly inbox: Inbox;
  readonly triggers: SessionTriggers | undefined;
  /** The run that leads it, where that is the agent's own workflow. */
  readonly own: OwnGuidance | undefined;
  /** Where the conversation may move to other agents. */
  readonly thread: Thread | undefined;
  readonly disarm: () => void;
  /** The session's `stop` tells it, also of a session that is over: what it has set off may still run. */
  stopped(): void;
}

/** Makes the parts of one run of an agent. The log is written by nobody else. */
export async function createAgentSession(deps: SessionDeps): Promise<AgentSession> {
  const { prepared, log, writer, stop, runtime } = deps;
  const { manifest } = prepared.agent;
  const { state } = log;
  const works = createSessionServices(deps);
  works.lastSaid = await followSaid(log, runtime.store, deps.resumed);
  if (prepared.workflows.size > 0) runsOf(works); // events that runs wait for are passed on from the first
  if (manifest.memory?.graph !== undefined) works.memory = await openSessionMemory(deps);
  await openFreshParts(works);
  const { reviews } = works;
  const testContext = () => works.context();
  const triggers =
    prepared.triggers && (await openTriggers(deps, prepared.triggers, runsOf(works), testContext));
  const led = state.led === true ? await openGuidedHooks(deps) : undefined;
  const hooks =
    led !== undefined || hasHooks(manifest.hooks)
      ? await openHooks(deps, (action) => works.traits(action), led)
      : undefined;
  works.before = hooks?.before;
  works.after = hooks?.after;
  works.scheduler = createScheduler(works, works);
  const inbox = createInbox(writer, works);
  const own = await openGuidance(deps);
  const lead = deps.lead ?? own?.lead;
  const face = prepared.face(state.led === true);
  const context: SessionContext = {
    deps,
    manifest,
    guide:
      lead &&
      createGuide({
        lead,
        log,
        stop,
        resumed: deps.resumed,
        resultOf: (output) => guidedResult(state, manifest, output),
      }),
    state,
    log,
    scheduler: works.scheduler,
    stop,
    reviews,
    hooks,
    inbox,
    sessionOrigin: () => deps.origin,
    clock: runtime.clock,
    model: deps.model,
    earlier: { has: (id: string) => works.scheduler.isIdTaken(id) },
    modelCall: undefined,
    spareParser: undefined,
    calls: face.calls,
    services: works,
  };
  const conversation = createConversation(face.opening(state));
  const thread = leadsThread(manifest, state)
    ? await openThread({ works, context, conversation, inbox })
    : undefined;
  const disarm = state.chat === true ? () => undefined : armWall(context);
  const wired: AgentSession = {
    services: works,
    context,
    conversation,
    inbox,
    triggers,
    own,
    thread,
    disarm,
    stopped: () => stopServices(works, context),
  };
  stop.on(wired);
  return wired;
}

/** Nothing is recorded from there on, so nothing may start any more, however long the model takes to end. */
function stopServices(works: SessionServices, context: SessionContext): void {
  const { stop } = works;
  const { reason } = stop;
  if (isReleased(stop)) void works.scheduler.release(); // waited for at the end
  void works.feeds?.keeper.close(); // likewise
  if (reason?.kind === 'cancel' && works.log.state.runs.length > 0) runsOf(works).cancelAll(reason.reason);
  endCurrentStream(context);
}

/** Loaded by agents that may hand over. */
async function openThread(wired: Wired): Promise<Thread> {
  const { Thread: Made } = await import('./handoffs/thread.ts');
  return new Made(wired);
}

export interface GuideDeps {
  readonly lead: Guidance;
  readonly log: SessionLog;
  readonly stop: Stop;
  readonly resumed: boolean;
  /** What the session results in, where it completes with its run. */
  readonly resultOf: (output: Json) => Json;
}

export function createGuide({ lead, log, stop, resumed, resultOf }: GuideDeps): Guide {
  const { state } = log;
  /** A task that the run may have taken back since: nothing is done for it before the run says so. */
  let unsure = resumed ? state.task?.given.task : undefined;
  const standing = (): GuidanceStanding | undefined => standingOf(state, lead, unsure);

  const settle = async (): Promise<GuidedEnd | undefined> => {
    for (let at = standing(); at !== undefined; at = standing()) {
      await log.flushed(); // what the run hears of is on the log
      const order = await lead.wait(at, stop);
      if (order === undefined) return { kind: 'stopped' };
      unsure = undefined;
      if (order.kind === 'go_on') continue;
      if (order.kind === 'park') {
        log.append({ type: 'session.waiting', for: order.for });
        log.seal(); // from here on the log belongs to whoever resumes it
        stop.now({ kind: 'wait' });
        return { kind: 'stopped' };
      }
      if (order.kind === 'over') return endOf(order.end, stop, resultOf);
      if (order.kind === 'task') {
        overWith(log);
        log.append({ type: 'task.given', ...givenOf(order.task) }, order.cause);
        return undefined;
      }
      const { task, nth, word } = order;
      const said = word.kind === 'again' ? { text: word.text, by: word.by } : { by: 'verifier' };
      log.append({ type: 'task.answered', task, nth, ...said });
    }
    return undefined;
  };

  return {
    before: () => (standing() === undefined ? undefined : settle()),
    after() {
      const { task } = state;
      // After a restart it may be called once more, and the task may be one that the turn knew nothing of.
      if (task === undefined || task.open !== undefined) return;
      if (task.reportedIn === state.turn || task.since === state.turn) return;
      const { task: key } = task.given;
      const why = whyStuck(state, task);
      if (why !== undefined) {
        const isSecond = task.warned;
        log.append({ type: 'task.stuck', task: key, why, ...(isSecond ? { nth: task.reports + 1 } : {}) });
        if (!isSecond) log.append({ type: 'message.received', from: 'runtime', text: `${why} ${OTHER_WAY}` });
      } else if (task.given.judged === true)
        log.append({ type: 'task.turn', task: key, nth: task.reports + 1 });
    },
  };
}

const OTHER_WAY =
  'Do something else: look at what you have, try another way, or complete the step and say in its notes what could not be done. If it goes on like this, a person is asked.';

/** Where the session waits for its run; undefined while it has something to do. */
function standingOf(
  state: SessionState,
  lead: Guidance,
  unsure: string | undefined,
): GuidanceStanding | undefined {
  const { task } = state;
  if (task === undefined) return { kind: 'idle' };
  const { task: key, max_turns: most } = task.given;
  if (lead.isWithdrawn(key)) return { kind: 'idle' };
  if (task.open !== undefined)
    return { kind: 'report', task: key, report: reportOf(state, task, task.open), used: usedBy(state) };
  if (most === undefined || task.turns < most)
    return unsure === key ? { kind: 'resumed', task: key } : undefined;
  return {
    kind: 'report',
    task: key,
    report: { kind: 'failed', by: state.id, error: tooLong(most) },
    used: usedBy(state),
  };
}

const usedBy = ({ model, totals }: SessionState): Used => ({
  model,
  ...usageOf(totals),
  cost_usd: totals.cost_usd,
});

function reportOf(state: SessionState, task: TaskState, open: NonNullable<TaskState['open']>): TaskReport {
  const from = {
    by: state.id,
    turns: task.turns,
    ...(task.reported === undefined ? {} : { cause: task.reported }),
  };
  switch (open.kind) {
    case 'claimed':
      return { ...open, ...from, work: workOf(state, task) };
    case 'turn':
      return { ...open, ...from, work: workOf(state, task) };
    case 'stuck':
      return { ...open, ...from };
  }
}

function givenOf({
  key,
  prompt,
  requires,
  accepts,
  evidence,
  maxTurns,
  judgesTurns,
  checked,
}: Task): GivenTask {
  return {
    task: key,
    prompt,
    ...(isEmpty(requires) ? {} : { requires }),
    ...(isEmpty(accepts) ? {} : { accepts }),
    ...(evidence.length === 0 ? {} : { evidence }),
    ...(maxTurns === undefined ? {} : { max_turns: maxTurns }),
    ...(judgesTurns ? { judged: true as const } : {}),
    ...(checked === true ? { checked } : {}),
  };
}

const isEmpty = (values: Readonly<Record<string, JsonObject>>) => Object.keys(values).length === 0;

function overWith(log: SessionLog): void {
  const { task } = log.state;
  if (task !== undefined) log.append({ type: 'task.over', task: task.given.task });
}

function endOf(end: GuidanceEnd, stop: Stop, resultOf: GuideDeps['resultOf']): GuidedEnd {
  switch (end.kind) {
    case 'completed':
      return { kind: 'completed', result: resultOf(end.output), cause: end.cause };
    case 'failed':
      return { kind: 'failed', error: asError(end.error), cause: end.cause };
    case 'cancelled':
      stop.now({ kind: 'cancel', reason: end.reason, by: 'workflow' });
      return { kind: 'stopped' };
  }
}

const asError = ({ code, message, hint, retryable }: ErrorJson) =>
  new RuntimeError(code, message, { hint, retryable });

const tooLong = (turns: number) =>
  new RuntimeError('max_turns', `The step was not completed within ${turns} turns.`, {
    hint: 'Raise "max_turns", make the step smaller, or set "on_error".',
  }).toJSON();

/** The same call with the same input, and turns in a row without anything new. */
const MAX_REPEATS = 3;
const MAX_BARREN = 5;

/** Why the agent does not come further with its task, at the end of a turn; undefined where it does. */
export function whyStuck(state: SessionState, task: TaskState): string | undefined {
  const repeated = task.tried.find(({ times }) => times >= MAX_REPEATS);
  if (repeated !== undefined) {
    const known = state.actions.get(repeated.id);
    const name = known === undefined ? repeated.what : `${known.action.kind} "${known.action.name}"`;
    return `You have called ${name} with the same input ${repeated.times} times in this step.`;
  }
  if (task.fresh || state.open.size > 0) return undefined;
  const barren = task.barren + 1;
  return barren >= MAX_BARREN ? `The last ${barren} turns of this step have changed nothing.` : undefined;
}
