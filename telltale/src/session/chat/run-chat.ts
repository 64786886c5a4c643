import { isAway } from '../../events/fold-handoffs.ts';
import { TURN_BROKEN_OFF } from '../../events/fold-turns.ts';
import type { Json } from '../../kernel/json.ts';
import type { Conversation } from '../../prompt/conversation.ts';
import { armWall } from '../arm-wall.ts';
import { closeTurn } from '../close-turn.ts';
import type { SessionContext } from '../context.ts';
import type { Thread } from '../handoffs/thread.ts';
import type { Inbox } from '../inbox.ts';
import { type LoopEnd, startLoop } from '../loop.ts';
import type { Left } from '../recover.ts';
import { endTurnInHand } from '../turn/hearing-state.ts';
import type { Talk } from './talk.ts';

export interface ChatDeps {
  /** What the last turn before a restart left to do. */
  readonly left: Left | undefined;
  readonly inbox: Inbox;
  readonly talk: Talk;
  /** Where the conversation may move to other agents. */
  readonly thread: Thread | undefined;
}

/**
 * Exchange after exchange: the loop of a session each, which ends with a final response or where the person breaks it
 * off; in between the session waits for a message, and no time limit runs.
 */
export async function runChat(
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
    exchange.stop.on(() => endTurnInHand(within));
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
  left: Left | undefined,
): Promise<LoopEnd> =>
  new Promise((ended, failed) => startLoop(within, conversation, left, { ended, failed }));

/** Waits for the next message; false where there will be none, because the person has finished or the session stops. */
async function messageCame({ log, state, stop }: SessionContext, inbox: Inbox, talk: Talk): Promise<boolean> {
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
  if (isAway(state)) return state.thread?.answer ?? null;
  if (state.response?.final !== true) return null;
  const output = deps.prepared.checkOutput(state.response.text);
  return output.ok ? output.value : state.response.text;
}
