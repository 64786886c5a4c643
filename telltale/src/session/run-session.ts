import { toRuntimeError } from '../kernel/runtime-error.ts';
import { runChat } from './chat/run-chat.ts';
import { type Concluded, conclude } from './conclude.ts';
import { type LoopEnd, type LoopOwner, startLoop } from './loop.ts';
import { type Left, recover } from './recover.ts';
import type { SessionDeps } from './session-edges.ts';
import { runsOf } from './session-works.ts';
import { isLetGo } from './stop.ts';
import type { WiredSession } from './wire-session.ts';

/** This process has let go of the session before it began to work on it. */
interface LetGo {
  readonly kind: 'let_go';
}

/** How the work on a session ended. */
export type WorkEnd = LoopEnd | LetGo | { readonly kind: 'threw'; readonly thrown: unknown };

/**
 * One run of an agent, from its first or its last event on, is `takeUp`, `workOn` and `endSession`, in turn.
 */
export async function takeUp(
  wired: WiredSession,
): Promise<LetGo | { readonly kind: 'taken'; readonly left: Left | undefined }> {
  const { works, context } = wired;
  if (takeMail(works.deps)) await wired.inbox.drain();
  else if (works.log.committedSeq() < context.state.seq) await works.log.flushed().catch(() => undefined); // `stop` knows why
  return isLetGo(works.stop) ? { kind: 'let_go' } : { kind: 'taken', left: await findLeft(wired) };
}

/** Turn after turn, from what the last one before a restart left to do, until `owner` is told how it ended. */
export function workOn(
  { works, context, conversation, inbox, thread }: WiredSession,
  left: Left | undefined,
  owner: LoopOwner,
): void {
  if (context.state.chat !== true && thread === undefined) {
    startLoop(context, conversation, left, owner);
    return;
  }
  const { talk } = works.deps;
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
export async function endSession(wired: WiredSession, end: WorkEnd): Promise<Concluded> {
  const { works, context, conversation } = wired;
  try {
    if (end.kind === 'threw') throw end.thrown;
    if (end.kind === 'let_go') return await conclude(context, conversation, { kind: 'stopped' });
    if (end.kind === 'completed') wired.inbox.hearNoMore();
    await comeToEnd(wired, end);
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
function takeMail(deps: SessionDeps): boolean {
  const hasMail = deps.hasMail?.() === true;
  deps.hasMail = undefined;
  return hasMail;
}

/** Goes on from where the log ends: what the last turn before a restart left to do, if there was one. */
async function findLeft({ works, context, conversation, triggers }: WiredSession): Promise<Left | undefined> {
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

async function comeToEnd({ works, triggers, own, thread }: WiredSession, end: LoopEnd): Promise<void> {
  const { deps, feeds, memory, stop } = works;
  await thread?.close(end);
  await own?.close(end);
  // What a load still brings belongs to no turn any more, and what it costs would stand behind the session's end.
  await feeds?.keeper.close();
  await variablesOut(deps, end);
  if (end.kind === 'completed') triggers?.end();
  if (end.kind !== 'stopped') await memory?.note();
  // A session that has completed is not taken up again: what it has set off must be there before, or have ended.
  if (!isLetGo(stop)) await works.runs?.ofFeeds.end(async () => feeds?.keeper.close());
  await works.runs?.settled();
}

/** What is still to be decided or kept of the variables belongs to the session, unless somebody ended it. */
async function variablesOut(
  { variables: { keeper, reactions }, stop }: SessionDeps,
  end: LoopEnd,
): Promise<void> {
  if (end.kind === 'stopped' || stop.reason !== undefined) return;
  await reactions?.settled();
  await keeper?.settled();
}
