import type { RuntimeError } from '../kernel/runtime-error.ts';
import type { Conversation } from '../prompt/conversation.ts';
import { compactIfNeeded } from './compact.ts';
import type { SessionContext } from './context.ts';
import type { SessionHooks } from './hooks/create-session-hooks.ts';
import { reachedLimit } from './limits.ts';
import { finishLast, type Left } from './recover.ts';
import type { Stop } from './stop.ts';
import { finishTurn } from './turn/finish-turn.ts';
import { endHearing } from './turn/hearing.ts';
import type { Hearing } from './turn/hearing-state.ts';
import { listen } from './turn/listen.ts';
import type { Next } from './turn/next.ts';
import { endTurn, openTurn } from './turn/run-turn.ts';
import { responsesOut } from './turn/settle-actions.ts';

/** How a session's loop ended by itself; `stopped` where somebody ended it. */
export type LoopEnd =
  | Exclude<Next, { kind: 'turn' }>
  | { readonly kind: 'failed'; readonly error: RuntimeError };

/**
 * Turn after turn until the session ends. `left` is what the last turn before a restart left to do. Whoever stops the session ends the stream of the turn in hand.
 */
export async function runLoop(
  context: SessionContext,
  conversation: Conversation,
  left: Left | undefined,
): Promise<LoopEnd> {
  const { state, stop, clock, manifest, log, hooks } = context;
  if (left !== undefined) {
    const next = await finishLast(context, left);
    if (state.failing !== undefined) return untilStopped(context);
    const tell = left.kind === 'broken' ? hooks?.turnFailed : hooks?.afterTurn;
    const then = tell === undefined ? next : await told(tell, stop, next);
    if (then.kind !== 'turn') return then;
  }
  let hearing: Hearing | undefined;
  for (;;) {
    const before = context.works.beforeTurn();
    if (before !== undefined) await before;
    if (stop.reason !== undefined) return { kind: 'stopped' };
    if (state.failing !== undefined) return untilStopped(context);
    const led = context.guide?.before();
    const ended = led === undefined ? undefined : await led;
    if (ended !== undefined) return ended;
    const limit = reachedLimit(state, manifest.limits, clock.now()) ?? context.limitAbove?.();
    if (limit !== undefined) return { kind: 'failed', error: limit };
    let previous = conversation.prompt();
    const compacting = compactIfNeeded(context, conversation);
    if (compacting !== undefined) await compacting;
    if (stop.reason !== undefined) return { kind: 'stopped' };
    if (hooks !== undefined) {
      await hooks.beforeTurn(stop);
      if (stop.reason !== undefined) return { kind: 'stopped' };
      if (state.failing !== undefined) return untilStopped(context);
    }
    const loading = context.fresh?.();
    if (loading !== undefined) {
      await stop.until((done) => void loading.finally(done));
      if (stop.reason !== undefined) return { kind: 'stopped' };
      if (state.failing !== undefined) return untilStopped(context);
    }
    const cost = manifest.budget?.costs.turn ?? 0;
    if (state.balance !== undefined && cost > 0)
      log.append(
        { type: 'budget.charged', what: 'turn', amount: cost, balance: state.balance - cost },
        context.sessionOrigin(),
      );
    const prompt = conversation.extend(state);
    hearing = openTurn(context, prompt, previous, hearing);
    previous = undefined; // else it is held for as long as the model speaks
    const streamed = await listen(hearing, prompt);
    const acting = stop.reason === undefined ? endHearing(hearing) : undefined;
    if (acting !== undefined) await acting;
    const end = endTurn(hearing, prompt, streamed);
    if (end.kind === 'stopped') return end;
    if (state.failing !== undefined) return untilStopped(context);
    if (end.kind === 'broken') {
      const { retryInMs } = end;
      if (hooks !== undefined) await hooks.turnFailed(stop);
      if (retryInMs === undefined) return { kind: 'failed', error: end.error };
      await stop.until((done) => clock.after(retryInMs, done));
      await responsesOut(context, end.heard.responses);
      continue;
    }
    const finishing = finishTurn(context, end.heard);
    const next = finishing instanceof Promise ? await finishing : finishing;
    if (state.failing !== undefined) return untilStopped(context);
    const then = hooks === undefined ? next : await told(hooks.afterTurn, stop, next);
    if (then.kind !== 'turn') return then;
  }
}

/** What follows a turn once its hooks know of its end. One that was stopped has not come to its end. */
async function told(tell: SessionHooks['afterTurn'], stop: Stop, next: Next): Promise<Next> {
  if (next.kind !== 'stopped') await tell(stop);
  return stop.reason === undefined ? next : { kind: 'stopped' };
}

/** An action ends the session, once all that was done before it is undone: nothing else may end it before. */
async function untilStopped({ reviews }: SessionContext): Promise<LoopEnd> {
  await reviews.until(() => undefined);
  return { kind: 'stopped' };
}
