import { type RuntimeError, toRuntimeError } from '../lib/errors.ts';
import type { Json } from '../lib/json.ts';
import { weighTokens } from '../lib/tokens.ts';
import { usageOf } from '../log/event.ts';
import { isAway } from '../log/fold-handoffs.ts';
import { TURN_BROKEN_OFF } from '../log/fold-turns.ts';
import { openReviews } from '../log/reviews.ts';
import type { SessionState } from '../log/state.ts';
import type { Conversation } from '../prompt/conversation.ts';
import type { AgentSession } from './agent-session.ts';
import type { ChatControl } from './chat-control.ts';
import { costWith, countUsage } from './cost.ts';
import type { Thread } from './handoffs/thread.ts';
import type { Inbox } from './inbox.ts';
import { armWall } from './limits.ts';
import { type LoopEnd, type LoopOwner, startLoop } from './loop.ts';
import { recover, type UnfinishedTurn } from './recover.ts';
import type { SessionResult } from './runtime-types.ts';
import type { SessionContext } from './session-context.ts';
import type { SessionDeps } from './session-edges.ts';
import type { SessionLog } from './session-log.ts';
import { runsOf } from './session-works.ts';
import { isReleased, type StopReason } from './stop.ts';
import { endCurrentStream } from './turn/active-turn.ts';

/** This process has let go of the session before it began to work on it. */
interface Released {
  readonly kind: 'let_go';
}

/** How the work on a session ended. */
export type SessionWorkEnd = LoopEnd | Released | { readonly kind: 'threw'; readonly thrown: unknown };

/**
 * One run of an agent, from its first or its last event on, is `resumeWork`, `runLoop` and `endSession`, in this order.
 */
export async function resumeWork(
  wired: AgentSession,
): Promise<Released | { readonly kind: 'taken'; readonly left: UnfinishedTurn | undefined }> {
  const { services: works, context } = wired;
  if (hasMail(works.deps)) await wired.inbox.drain();
  else if (works.log.committedSeq() < context.state.seq) await works.log.flushed().catch(() => undefined); // `stop` knows why
  return isReleased(works.stop)
    ? { kind: 'let_go' }
    : { kind: 'taken', left: await findUnfinishedTurn(wired) };
}

/** Turn after turn, from what the last one before a restart left to do, until `owner` is told how it ended. */
export function runLoop(
  { services: works, context, conversation, inbox, thread }: AgentSession,
  left: UnfinishedTurn | undefined,
  owner: LoopOwner,
): void {
  if (context.state.chat !== true && thread === undefined) {
    startLoop(context, conversation, left, owner);
    return;
  }
  const { chat: talk } = works.deps;
  const working =
    thread !== undefined && context.state.chat !== true
      ? thread.exchange(context, left)
      : runChat(context, conversation, { left, inbox, talk, thread });
  working.then(
    (end) => owner.ended(end),
    (thrown: unknown) => owner.failed(thrown),
  );
}

/** The session writes no more when it resolves. */
export async function endSession(wired: AgentSession, end: SessionWorkEnd): Promise<Concluded> {
  const { services: works, context, conversation } = wired;
  try {
    if (end.kind === 'threw') throw end.thrown;
    if (end.kind === 'let_go') return await conclude(context, conversation, { kind: 'stopped' });
    if (end.kind === 'completed') wired.inbox.hearNoMore();
    await endLoop(wired, end);
    return await conclude(context, conversation, end);
  } catch (thrown) {
    // A mistake of ours: the session ends as failed rather than hanging, and the log says why.
    works.stop.now({ kind: 'fail', error: toRuntimeError(thrown) });
    return await conclude(context, conversation, { kind: 'stopped' });
  } finally {
    wired.disarm();
    wired.triggers?.close();
    await works.feeds?.keeper.close();
    await works.runs?.settled();
    works.deps.variables.reactions?.close();
    wired.inbox.close();
    conversation.end(); // who keeps the session at hand need not keep that
  }
}

/** Asked once, and forgotten with all that it holds. */
function hasMail(deps: SessionDeps): boolean {
  const hasMail = deps.hasMail?.() === true;
  deps.hasMail = undefined;
  return hasMail;
}

/** Goes on from where the log ends: what the last turn before a restart left to do, if there was one. */
async function findUnfinishedTurn({
  services: works,
  context,
  conversation,
  triggers,
}: AgentSession): Promise<UnfinishedTurn | undefined> {
  const { deps, reviews, feeds, memory } = works;
  const { state, hooks } = context;
  const { resumed, prepared } = deps;
  if (state.reviews.length > 0) reviews.tidy();
  if (triggers !== undefined) triggers.begin();
  else if (state.runs.length > 0) await runsOf(works).reconcile();
  const asked = resumed ? conversation.rebuild(state) : undefined;
  if (resumed) hooks?.catchUp();
  if (resumed && feeds !== undefined && prepared.workflows.size > 0) await runsOf(works).ofFeeds.find();
  feeds?.keeper.begin();
  memory?.begin();
  return resumed ? recover(context, asked?.tokens ?? 0) : undefined;
}

async function endLoop(
  { services: works, triggers, own, thread }: AgentSession,
  end: LoopEnd,
): Promise<void> {
  const { deps, feeds, memory, stop } = works;
  await thread?.close(end);
  await own?.close(end);
  // What a load still brings belongs to no turn any more, and what it costs would stand behind the session's end.
  await feeds?.keeper.close();
  await variablesOut(deps, end);
  if (end.kind === 'completed') triggers?.end();
  if (end.kind !== 'stopped') await memory?.note();
  // A session that has completed is not taken up again: what it has set off must be there before, or have ended.
  if (!isReleased(stop)) await works.runs?.ofFeeds.end(async () => feeds?.keeper.close());
  await works.runs?.settled();
}

/** What is still to be decided or kept of the variables belongs to the session, unless somebody ended it. */
async function variablesOut(
  { variables: { variableStore, reactions }, stop }: SessionDeps,
  end: LoopEnd,
): Promise<void> {
  if (end.kind === 'stopped' || stop.reason !== undefined) return;
  await reactions?.settled();
  await variableStore?.settled();
}

export interface ChatDeps {
  /** What the last turn before a restart left to do. */
  readonly left: UnfinishedTurn | undefined;
  readonly inbox: Inbox;
  readonly talk: ChatControl;
  /** Where the conversation may move to other agents. */
  readonly thread: Thread | undefined;
}

/**
 * Exchange after exchange: the loop of a session each, which ends with a final response or where the person breaks it
 * off; in between the session waits for a message, and no time limit runs.
 */
async function runChat(
  context: SessionContext,
  conversation: Conversation,
  { left, inbox, talk, thread }: ChatDeps,
): Promise<LoopEnd> {
  const { state, stop } = context;
  // The exchange before a restart was over: nothing of it is left to do.
  let rest = state.idle ? undefined : left;
  let waits = state.idle;
  for (;;) {
    if (waits && !(await messageCame(context, inbox, talk)))
      return stop.reason === undefined
        ? { kind: 'completed', result: lastAnswer(context) }
        : { kind: 'stopped' };
    const exchange = talk.beginExchange(stop);
    const disarm = armWall(context);
    const within: SessionContext = {
      ...context,
      stop: exchange.stop,
      reviews: context.reviews.within(exchange.stop),
      sessionOrigin: () => inbox.lastMessage() ?? context.sessionOrigin(),
    };
    exchange.stop.on(() => endCurrentStream(within));
    let end: LoopEnd;
    try {
      end = await (thread === undefined
        ? exchangeEnd(within, conversation, rest)
        : thread.exchange(within, rest));
    } finally {
      disarm();
      exchange.end();
    }
    if (stop.reason !== undefined) return { kind: 'stopped' };
    if (end.kind === 'stopped') await brokenOff(within, conversation.prompt()?.tokens ?? 0);
    else if (end.kind !== 'completed' || end.over === true) return end;
    // What was broken off in the middle of `on_error: fail` fails the session all the same.
    if (state.failing !== undefined) await context.reviews.until(() => undefined);
    if (stop.reason !== undefined) return { kind: 'stopped' };
    rest = undefined;
    // A conversation of several agents is over when it says so: not all that stands here is for this agent.
    waits =
      end.kind === 'stopped' ||
      thread !== undefined ||
      state.handoff !== undefined ||
      state.news.messages.length === 0;
  }
}

const exchangeEnd = (
  within: SessionContext,
  conversation: Conversation,
  left: UnfinishedTurn | undefined,
): Promise<LoopEnd> =>
  new Promise((ended, failed) => startLoop(within, conversation, left, { ended, failed }));

/** Waits for the next message; false where there will be none, because the person has finished or the session stops. */
async function messageCame(
  { log, state, stop }: SessionContext,
  inbox: Inbox,
  talk: ChatControl,
): Promise<boolean> {
  log.append({ type: 'session.waiting', for: 'message' }, inbox.lastMessage());
  while (stop.reason === undefined && state.idle) {
    if (talk.finished) {
      // What was said before the end may still lie in the inbox.
      await inbox.drain();
      return stop.reason === undefined && !state.idle;
    }
    await stop.until((done) => {
      const deafen = inbox.onMessage(done);
      const forget = talk.onFinish(done);
      return () => {
        deafen();
        forget();
      };
    });
  }
  return stop.reason === undefined;
}

/** What had been said is on the log; what runs is cancelled, and the turn is closed. */
async function brokenOff(context: SessionContext, promptTokens: number): Promise<void> {
  const { scheduler, state } = context;
  await scheduler.cancel('The user broke off the turn.', scheduler.tracked());
  if (!state.turnOpen) return;
  closeTurn(context, promptTokens, TURN_BROKEN_OFF, 'The user broke off the turn.');
  scheduler.turnEnded('broken');
}

/** What the chat comes to: the answer of its last exchange. */
function lastAnswer({ state, deps }: SessionContext): Json {
  if (isAway(state)) return state.thread?.answer?.text ?? null;
  if (state.response?.final !== true) return null;
  const output = deps.prepared.checkOutput(state.response.text);
  return output.ok ? output.value : state.response.text;
}

/** `fire_and_forget` actions get this long at the end of a session. */
const SHUTDOWN_MS = 5_000;

/** All that a session has to write is on its way. */
export interface Concluded {
  /** How it went, once that is written. */
  readonly result: Promise<SessionResult>;
}

/** Ends what is still running, and appends the last event. */
async function conclude(
  context: SessionContext,
  conversation: Conversation,
  end: LoopEnd,
): Promise<Concluded> {
  const { log, scheduler, stop } = context;
  if (end.kind === 'completed') {
    if ((await shutdownRemaining(context)) === 'failing')
      return conclude(context, conversation, { kind: 'stopped' });
    if (context.hooks !== undefined) await context.hooks.settled();
    log.append({ type: 'session.completed', result: end.result }, end.cause ?? context.sessionOrigin());
  } else if (end.kind === 'stopped') {
    await stopAll(context, conversation.prompt()?.tokens ?? 0, stop.reason ?? { kind: 'interrupt' });
  } else {
    await scheduler.cancel(end.error.message);
    if (context.hooks !== undefined) await context.hooks.settled();
    const type = end.kind === 'failed' ? 'session.failed' : 'session.stalled';
    const cause = end.kind === 'failed' ? end.cause : undefined;
    log.append({ type, error: end.error.toJSON() }, cause ?? context.sessionOrigin());
  }
  return { result: outcomeOf(context, end) };
}

async function outcomeOf({ log, state, stop }: SessionContext, end: LoopEnd): Promise<SessionResult> {
  const { reason } = stop;
  const letGo = end.kind === 'stopped' && isReleased(stop);
  // An end that could not be written is none: the log says that the session goes on.
  const waits = letGo && reason?.kind === 'wait';
  const lost = reason?.kind === 'lost' ? reason.error : letGo && !waits ? undefined : await whyUnwritten(log);
  const { totals } = state;
  const isOver = !letGo && state.status !== 'running';
  const status = lost === undefined && (isOver || waits) ? statusOf(state) : 'interrupted';
  const error = lost?.toJSON() ?? state.error;
  return {
    session: state.id,
    status,
    ...(status !== 'completed' || state.result === undefined ? {} : { result: state.result }),
    ...(error === undefined ? {} : { error }),
    ...(status === 'waiting' ? { reviews: reviewsOf(reason) ?? openReviews(state) } : {}),
    turns: lost === undefined ? totals.turns : log.committedTurns(),
    usage: usageOf(totals),
    cost_usd: totals.cost_usd,
  };
}

const reviewsOf = (reason: StopReason | undefined) => (reason?.kind === 'wait' ? reason.reviews : undefined);

const statusOf = ({ status }: SessionState): SessionResult['status'] =>
  status === 'running' ? 'interrupted' : status;

const whyUnwritten = (log: SessionLog): Promise<RuntimeError | undefined> =>
  log.flushed().then(() => undefined, toRuntimeError);

async function stopAll(context: SessionContext, promptTokens: number, reason: StopReason): Promise<void> {
  const { log, scheduler } = context;
  switch (reason.kind) {
    case 'interrupt':
    case 'wait':
    case 'lost':
      log.seal();
      await scheduler.release();
      if (context.hooks !== undefined) await context.hooks.settled();
      return;
    case 'cancel':
      await scheduler.cancel(`The session was cancelled: ${reason.reason}`);
      if (context.hooks !== undefined) await context.hooks.settled();
      closeTurn(context, promptTokens, 'cancelled', 'The session was cancelled.');
      log.append(
        { type: 'session.cancelled', reason: reason.reason, by: reason.by },
        context.sessionOrigin(),
      );
      return;
    case 'fail':
      await scheduler.cancel(reason.error.message);
      if (context.hooks !== undefined) await context.hooks.settled();
      closeTurn(context, promptTokens, reason.error.code, reason.error.message);
      log.append({ type: 'session.failed', error: reason.error.toJSON() }, context.sessionOrigin());
      return;
  }
}

/** `failing`: one of those that nobody waited for has failed, and its `on_error` is `fail`; `stop` says what comes of it. */
async function shutdownRemaining(context: SessionContext): Promise<'well' | 'failing'> {
  const { scheduler, clock, stop, state, reviews } = context;
  const left = scheduler.untracked();
  if (left.length > 0)
    await stop.until((done) => {
      const disarm = clock.after(SHUTDOWN_MS, done);
      const forget = scheduler.whenAllEnded(left, done);
      return () => {
        disarm();
        forget();
      };
    });
  if (state.failing !== undefined) {
    await reviews.until(() => undefined); // what was done is undone first
    return 'failing';
  }
  if (left.length > 0) await scheduler.cancel('The session has ended.');
  return 'well';
}

/** Writes down that a turn which was cut off from outside is over; nothing where none is open. */
function closeTurn(context: SessionContext, promptTokens: number, code: string, message: string): void {
  const { log, state, model, modelCall: asker, scheduler } = context;
  if (!state.turnOpen) return;
  const unwritten = weighTokens(asker?.output.pending ?? '') + (asker?.streamOutcome?.reasoned ?? 0);
  const usage = countUsage(state, promptTokens, unwritten);
  const error = { code, message, retryable: false };
  const groups = asker?.groups ?? [];
  const within = groups.length === 0 ? {} : { groups };
  log.append({ type: 'turn.failed', error, ...within, usage, cost_usd: costWith(model, usage) });
  scheduler.invalidateParallels(groups);
}
