import type { RuntimeError } from '../lib/errors.ts';
import type { Cause } from '../log/event.ts';
import { asksAgain } from '../log/fold-turns.ts';
import type { Conversation } from '../prompt/conversation.ts';
import type { Prompt } from '../prompt/prompt.ts';
import {
  compactIfNeeded,
  compactRefused,
  contextTooSmall,
  extendAnew,
  hasNoRoom,
  isDoubtful,
  isTooLong,
} from './compact.ts';
import { giveWay } from './guided/give-way.ts';
import type { SessionHooks } from './hooks/session-hooks.ts';
import { reachedLimit } from './limits.ts';
import { finishUnfinishedTurn, type UnfinishedTurn } from './recover.ts';
import type { SessionContext } from './session-context.ts';
import type { Stop } from './stop.ts';
import type { ActiveTurn } from './turn/active-turn.ts';
import type { AfterTurn } from './turn/final-response.ts';
import { responsesComplete } from './turn/final-response.ts';
import { finishTurn } from './turn/finish-turn.ts';
import { beginTurn, endTurn, type TurnEnd } from './turn/run-turn.ts';
import { finishReading, startTurnStream, type TurnStreamListener } from './turn/turn-stream.ts';

/** How a session's loop ended by itself; `stopped` where somebody ended it. */
export type LoopEnd =
  | Exclude<AfterTurn, { kind: 'turn' }>
  | { readonly kind: 'failed'; readonly error: RuntimeError; readonly cause?: Cause | undefined };

/** A session's turns. Its listener goes on once the stream of the turn in hand has ended. */
interface SessionLoop {
  readonly context: SessionContext;
  readonly conversation: Conversation;
  /** Of the turn in hand. */
  activeTurn: ActiveTurn | undefined;
  prompt: Prompt | undefined;
  readonly owner: LoopOwner;
  readonly listener: TurnStreamListener;
}

/** Told once, of the one or the other. */
export interface LoopOwner {
  ended(end: LoopEnd): void;
  failed(thrown: unknown): void;
}

/**
 * Turn after turn until the session ends. `left` is what the last turn before a restart left to do. Whoever stops the
 * session ends the stream of the turn in hand.
 */
export function startLoop(
  context: SessionContext,
  conversation: Conversation,
  left: UnfinishedTurn | undefined,
  owner: LoopOwner,
): void {
  const loop: SessionLoop = {
    context,
    conversation,
    activeTurn: undefined,
    prompt: undefined,
    owner,
    listener: {
      streamEnded() {
        void runNextTurn(loop, undefined);
      },
    },
  };
  void runNextTurn(loop, left); // it tells the owner, however it goes
}

/** From the end of one stream, or from a restart, to the beginning of the next. */
async function runNextTurn(loop: SessionLoop, left: UnfinishedTurn | undefined): Promise<void> {
  const { context, conversation, activeTurn, prompt, owner } = loop;
  const { state, stop, hooks } = context;
  try {
    if (left !== undefined) {
      const next = await finishUnfinishedTurn(context, left);
      if (state.failing !== undefined) return owner.ended(await untilStopped(context));
      const tell = left.kind === 'broken' ? hooks?.turnFailed : hooks?.afterTurn;
      const then = tell === undefined ? next : await notifyHooks(tell, stop, next);
      if (then.kind !== 'turn') return owner.ended(then);
    } else if (activeTurn !== undefined && prompt !== undefined) {
      await undefined; // what the model's end has brought about at once comes first
      const acting = stop.reason === undefined ? finishReading(activeTurn) : undefined;
      if (acting !== undefined) await acting;
      const next = await finish(activeTurn, prompt);
      if (next.kind === 'failed') return owner.ended(explained(loop, next));
      if (next.kind !== 'again') {
        if (state.failing !== undefined) return owner.ended(await untilStopped(context));
        const then = hooks === undefined ? next : await notifyHooks(hooks.afterTurn, stop, next);
        if (then.kind !== 'turn') return owner.ended(then);
      }
    }
    if (asksAgain(state)) return askAgain(loop);
    const before = context.services.beforeTurn();
    if (before !== undefined) await before;
    if (stop.reason !== undefined) return owner.ended({ kind: 'stopped' });
    if (state.failing !== undefined) return owner.ended(await untilStopped(context));
    if (state.handoff !== undefined && left !== undefined)
      return owner.ended({ kind: 'completed', result: null });
    if (context.guide !== undefined) await giveWay(context);
    const led = context.guide?.before();
    const ended = led === undefined ? undefined : await led;
    if (ended !== undefined) return owner.ended(ended);
    const limit = limitOf(context);
    if (limit !== undefined) return owner.ended({ kind: 'failed', error: limit });
    const previous = conversation.prompt();
    const compacting = compactIfNeeded(context, conversation);
    if (compacting !== undefined) await compacting;
    if (stop.reason !== undefined) return owner.ended({ kind: 'stopped' });
    if (hooks !== undefined) {
      await hooks.beforeTurn(stop);
      if (stop.reason !== undefined) return owner.ended({ kind: 'stopped' });
      if (state.failing !== undefined) return owner.ended(await untilStopped(context));
    }
    const loading = context.services.fresh?.();
    if (loading !== undefined) {
      await loaded(stop, loading);
      if (stop.reason !== undefined) return owner.ended({ kind: 'stopped' });
      if (state.failing !== undefined) return owner.ended(await untilStopped(context));
    }
    charge(context);
    loop.prompt = conversation.extend(state);
    if (hasNoRoom(context, conversation.systemTokens())) return owner.ended(tooLong(loop, loop.prompt));
    if (isTooLong(context, loop.prompt)) {
      if (state.turns.length > 0) loop.prompt = await extendAnew(context, conversation);
      if (stop.reason !== undefined) return owner.ended({ kind: 'stopped' });
      if (isTooLong(context, loop.prompt)) return owner.ended(tooLong(loop, loop.prompt));
    }
    loop.activeTurn = beginTurn(context, loop.prompt, previous);
    startTurnStream(loop.activeTurn, loop.prompt, loop.listener);
  } catch (thrown) {
    owner.failed(thrown);
  }
}

const limitOf = ({ state, manifest, clock, deps }: SessionContext) =>
  reachedLimit(state, manifest.limits, clock.now()) ?? deps.lineage?.limits.reached();

/** The last request failed before its first character: it is made again as it was. */
async function askAgain(loop: SessionLoop): Promise<void> {
  const { context, conversation, owner } = loop;
  if (context.stop.reason !== undefined) return owner.ended({ kind: 'stopped' });
  if (context.state.failing !== undefined) return owner.ended(await untilStopped(context));
  const limit = limitOf(context);
  if (limit !== undefined) return owner.ended({ kind: 'failed', error: limit });
  if (context.state.exceeded !== undefined) {
    const isShorter = await compactRefused(context, conversation);
    if (context.stop.reason !== undefined) return owner.ended({ kind: 'stopped' });
    const refused = conversation.prompt();
    const isFinal =
      (context.state.exceeded ?? 0) > 1 || (refused !== undefined && !isDoubtful(context, refused));
    if (!isShorter && refused !== undefined && isFinal) return owner.ended(tooLong(loop, refused));
  }
  const prompt = conversation.prompt() ?? conversation.extend(context.state);
  loop.prompt = prompt;
  loop.activeTurn = beginTurn(context, prompt, prompt);
  startTurnStream(loop.activeTurn, prompt, loop.listener);
}

/** Of a prompt that the provider refuses as too long, the session says what it holds and what can be done. */
const explained = (loop: SessionLoop, failed: Failed): Failed =>
  failed.error.code === 'model_context_exceeded' && loop.prompt !== undefined
    ? tooLong(loop, loop.prompt, failed.error)
    : failed;

function tooLong(
  { context, conversation, activeTurn }: SessionLoop,
  prompt: Prompt,
  refused?: RuntimeError,
): Failed {
  const ended = activeTurn?.streamOutcome?.ended;
  const words = refused ?? (ended?.ok === false ? ended.error : undefined);
  return { kind: 'failed', error: contextTooSmall(context, prompt, conversation.systemTokens(), words) };
}

/** Apart: with a function inside, each call of the one above would make a context for it. */
const loaded = (stop: Stop, loading: Promise<void>): Promise<void> | undefined =>
  stop.until((done) => void loading.finally(done));

/** Of the budget, where there is one and turns cost something. */
function charge(context: SessionContext): void {
  const { state, manifest, log } = context;
  const cost = manifest.budget?.costs.turn ?? 0;
  if (state.balance === undefined || cost <= 0) return;
  log.append(
    { type: 'budget.charged', what: 'turn', amount: cost, balance: state.balance - cost },
    context.sessionOrigin(),
  );
}

type Failed = Extract<LoopEnd, { readonly kind: 'failed' }>;

/** What follows a turn; `again` where it broke off and the model is asked once more. */
type AfterStream = AfterTurn | Failed | { readonly kind: 'again' };

/** Ends a turn of which all was acted on, and decides what follows. */
async function finish(activeTurn: ActiveTurn, prompt: Prompt): Promise<AfterStream> {
  const { context } = activeTurn;
  const end = endTurn(activeTurn, prompt);
  if (end.kind === 'stopped') return end;
  if (context.state.failing !== undefined) return { kind: 'turn' }; // none comes: the loop looks at this next
  return end.kind === 'broken' ? afterBreak(context, end) : finishTurn(context, end.result);
}

async function afterBreak(
  context: SessionContext,
  broken: Extract<TurnEnd, { readonly kind: 'broken' }>,
): Promise<AfterStream> {
  const { hooks, stop, clock } = context;
  const { retryInMs, error, result } = broken;
  if (hooks !== undefined) await hooks.turnFailed(stop);
  if (retryInMs === undefined) return { kind: 'failed', error };
  await stop.until((done) => clock.after(retryInMs, done));
  await responsesComplete(context, result.responses);
  return { kind: 'again' };
}

/** What follows a turn once its hooks know of its end. One that was stopped has not come to its end. */
async function notifyHooks(tell: SessionHooks['afterTurn'], stop: Stop, next: AfterTurn): Promise<AfterTurn> {
  if (next.kind !== 'stopped') await tell(stop);
  return stop.reason === undefined ? next : { kind: 'stopped' };
}

/** An action ends the session, once all that was done before it is undone: nothing else may end it before. */
async function untilStopped({ reviews }: SessionContext): Promise<LoopEnd> {
  await reviews.until(() => undefined);
  return { kind: 'stopped' };
}
