import type { Clock } from '../../lib/clock.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { Store, StreamInfo } from '../../store/store.ts';
import { openChildren } from '../children/child-id.ts';
import { leadRun } from '../guided/guidance.ts';
import { sendToSession } from '../messages.ts';
import { readSession, sessionEmpty, sessionUnknown } from '../read-session.ts';
import { RUN_CANCEL } from '../runs/run-messages.ts';
import type { Runtime } from '../runtime-types.ts';
import { type CancelUnowned, cancelUnowned, cancelUnownedRun, wayToEnd } from './cancel-unowned.ts';
import { hasEnded } from './has-ended.ts';

export interface CancelDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly workflows: Pick<Runtime['workflows'], 'cancel'>;
}

/** For whoever has a runtime and no agent: what takes one waits in the session's inbox for who resumes it. */
export async function cancelHere(
  deps: CancelDeps,
  session: string,
  reason: string,
  by: string,
): Promise<void> {
  const { store, clock } = deps;
  const tellRun = (run: StreamInfo, why: string) => tellToEnd(deps, run.stream, why);
  const { kind } = await cancelSession(store, session, { reason, by, clock, tellRun });
  if (kind === 'to_undo') await sendToSession(store, session, { kind: 'cancel', from: by, body: reason });
}

/** What became of a wish to end a session. */
export type Cancelled =
  /** Nobody worked on it: it has ended now. */
  | { readonly kind: 'ended' }
  | { readonly kind: 'ended_before'; readonly status: string }
  /** Somebody works on it, and ends it. */
  | { readonly kind: 'told'; readonly pid: number | undefined }
  /** It was called by what nobody works on, and ends as soon as that goes on. */
  | { readonly kind: 'kept' }
  /** The run that leads it has steps to undo, which takes its agent: whoever resumes it with a `cancel` in its inbox ends it. */
  | { readonly kind: 'to_undo' };

export interface CancelSession extends CancelUnowned {
  readonly clock: Pick<Clock, 'now' | 'after'>;
}

/** When a stream is looked at again that somebody held, who may be about to let go of it. */
const LOOKS_MS = [10, 40, 150, 500];

/** Ends a session: through its inbox where somebody works on it or on its caller, else at once. */
export async function cancelSession(store: Store, session: string, given: CancelSession): Promise<Cancelled> {
  const reader = { store, state: (id: string) => readSession(store, id) };
  // Whoever had it when it was to be ended here may have let go of it meanwhile, or have ended it.
  for (let look = 0; ; look++) {
    const info = await store.info(session);
    if (info === undefined) throw sessionUnknown(session, store.location);
    if (info.kind !== 'session') throw isRun(session);
    if (info.head === 0) throw sessionEmpty(session);
    const { owner, status } = info;
    if (owner === undefined && hasEnded(status)) return { kind: 'ended_before', status };
    const isCalled = owner === undefined && given.force !== true && (await hasCaller(store, info));
    if (owner !== undefined || isCalled || look > 1) {
      await sendToSession(store, session, { kind: 'cancel', from: given.by, body: given.reason });
      return isCalled ? { kind: 'kept' } : { kind: 'told', pid: owner?.pid };
    }
    const lead = await endLead(store, session, given);
    if (lead === 'to_undo') return { kind: 'to_undo' };
    if (lead === 'ended' && (await cancelUnowned(reader, session, given)) === 'ended')
      return { kind: 'ended' };
  }
}

/** Whether one that called it is alive and waits for it: it goes on with that one, and its end is that one's to hear of. */
async function hasCaller(store: Store, { stream, parent }: StreamInfo): Promise<boolean> {
  const caller = parent === undefined ? undefined : await store.info(parent);
  if (caller === undefined || caller.head === 0 || hasEnded(caller.status)) return false;
  return caller.kind === 'run' || openChildren(await readSession(store, caller.stream)).includes(stream);
}

/** The run that leads it, where one does, ends before it. */
async function endLead(
  store: Store,
  session: string,
  given: CancelSession,
): Promise<'ended' | 'to_undo' | 'held'> {
  const lead = await letGoOf(store, leadRun(session), given.clock);
  if (lead === undefined || hasEnded(lead.status)) return 'ended';
  if (lead.owner !== undefined) return 'held';
  if (given.force !== true && (await wayToEnd(store, lead)) !== 'at once') return 'to_undo';
  const ended = await cancelUnownedRun(store, lead.stream, { ...given, by: session });
  return ended === 'owned' ? 'held' : 'ended';
}

/** A stream as it is once its owner, who has let go of its session, has let go of it, too; as it is where he does not. */
async function letGoOf(
  store: Store,
  stream: string,
  clock: Pick<Clock, 'after'>,
): Promise<StreamInfo | undefined> {
  let info = await store.info(stream);
  for (const delay of LOOKS_MS) {
    if (info?.owner === undefined || hasEnded(info.status)) break;
    await new Promise<void>((resolve) => clock.after(delay, resolve));
    info = await store.info(stream);
  }
  return info;
}

const isRun = (id: string) =>
  new RuntimeError('session_unknown', `${id} is a workflow run, and no session.`, {
    hint: `End it with runtime.workflows.cancel(${JSON.stringify(id)}).`,
  });

/** Has a run worked on that is to end. Where that cannot be, the word is there for whoever can. */
export async function tellToEnd(
  { store, workflows }: { readonly store: Store; readonly workflows: Pick<Runtime['workflows'], 'cancel'> },
  run: string,
  reason: string,
): Promise<void> {
  try {
    await workflows.cancel(run, reason, 'session');
  } catch (thrown) {
    if (!(thrown instanceof RuntimeError) || thrown.code !== 'manifest_changed') throw thrown;
    await store.send(run, { kind: RUN_CANCEL, from: 'session', body: reason });
  }
}
