import type { InFlightCalls } from '../engine/in-flight.ts';
import { type Clock, sleep } from '../lib/clock.ts';
import { RuntimeError } from '../lib/errors.ts';
import { isAway } from '../log/fold-handoffs.ts';
import type { Store, StreamInfo } from '../store/store.ts';
import { readSession, sessionUnknown } from './read-session.ts';
import type { Runs } from './runs/create-runs.ts';
import type { Seat } from './runtime-deps.ts';
import type { DrainOptions } from './runtime-types.ts';

export interface SteerDeps {
  readonly store: Store;
  readonly clock: Clock;
}

/** An owner who lives takes a message within milliseconds, or a second where the bell cannot be rung. */
const TAKEN_WITHIN_MS = 2_000;
const LOOK_MS = 10;

/**
 * Puts a message before an agent that any process works on: in its next turn, or once its session is resumed. Rejects
 * where there is none to come, also where the end was decided while the message was on its way.
 */
export async function steerSession(
  deps: SteerDeps,
  session: string,
  text: string,
  from?: string,
): Promise<void> {
  await untilTaken(deps, session, await sendSteer(deps.store, session, text, from));
}

/** The same, up to where the message lies in the inbox. Resolves to its number there. */
export async function sendSteer(store: Store, session: string, text: string, from = 'user'): Promise<number> {
  const info = await store.info(session);
  if (info !== undefined && (await hearsNoMore(store, info))) throw nobodyReads(session);
  return sendToSession(store, session, { kind: 'steer', from, body: text });
}

/** Resolves when the message is on the log, or when nobody takes it now: it waits for who resumes the session. */
async function untilTaken({ store, clock }: SteerDeps, session: string, sent: number): Promise<void> {
  let seen = 0;
  let isOver = false;
  for (const until = clock.monotonic() + TAKEN_WITHIN_MS; ; await sleep(clock, LOOK_MS)) {
    const info = await store.info(session);
    if (info?.messages === undefined) return;
    if (info.head !== seen) isOver = await hearsNoMore(store, info);
    seen = info.head;
    // Looked at behind the end: what lies there by then is not taken any more.
    const lies = (await store.upkeep.inbox(session)).some(({ id }) => id === sent);
    if (!lies) return;
    if (isOver) throw nobodyReads(session);
    if (info.owner === undefined || clock.monotonic() >= until) return;
  }
}

/**
 * Whether nobody would read a message: the session has completed, or is about to, while what nobody waits for has its
 * time. One that nobody works on by then would answer when it is resumed.
 */
export async function hearsNoMore(
  store: Store,
  { stream, kind, status, owner }: StreamInfo,
): Promise<boolean> {
  if (status === 'completed') return true;
  if (kind !== 'session' || owner === undefined) return false;
  const state = await readSession(store, stream);
  const { chat, response, turn, handoff } = state;
  // Its own answer is not the last one where the conversation moves on.
  if (chat === true || handoff !== undefined || isAway(state)) return false;
  return response?.final === true && response.turn === turn;
}

export const nobodyReads = (session: string, fork = `runtime.fork("${session}", SEQ)`) =>
  new RuntimeError('session_completed', `${session} has ended, so the agent would not read the message.`, {
    hint: `To continue, fork it from one of its events: ${fork}`,
  });

/** The same refusal, with the fork that the caller's caller can make. */
export const forkingBy = (steering: Promise<void>, session: string, fork: string): Promise<void> =>
  steering.catch((thrown: unknown) => {
    const isOver = thrown instanceof RuntimeError && thrown.code === 'session_completed';
    throw isOver ? nobodyReads(session, fork) : thrown;
  });

export const notAChat = (session: string) =>
  new RuntimeError('not_a_chat', `${session} is no chat: its agent works on what it was started with.`, {
    hint: 'Put a message before it with steer(text), or start it with chat: true.',
  });

/** Together with what a server answers and what is closed afterwards: less than the 30 s that a stop is mostly given. */
export const DRAIN_MS = 20_000;

export interface DrainDeps {
  readonly underWay: InFlightCalls;
  readonly live: ReadonlySet<Seat>;
  readonly runs: Pick<Runs, 'releaseExcept'>;
  readonly clock: Clock;
}

/** Lets go of what can be gone on with elsewhere, and waits for calls that would be left in doubt. */
export async function drainRuntime(
  { underWay, live, runs, clock }: DrainDeps,
  { withinMs = DRAIN_MS, onWaiting }: DrainOptions,
): Promise<void> {
  underWay.shut();
  const letGo = () => {
    const keys = underWay.keys();
    for (const { session } of live)
      if (session !== undefined && !keys.has(session.id)) void session.interrupt();
    runs.releaseExcept((run, group) => keys.has(run) || keys.has(group));
  };
  letGo();
  if (underWay.size() === 0 || withinMs <= 0) return;
  onWaiting?.({ calls: underWay.size(), withinMs });
  await new Promise<void>((resolve) => {
    const end = () => {
      disarm();
      unheard();
      resolve();
    };
    const disarm = clock.after(withinMs, end);
    const unheard = underWay.onLeft(() => {
      letGo();
      if (underWay.size() === 0) end();
    });
  });
}

/** Leaves a message in the inbox of a session, and gives its number there. Throws `session_unknown`, as reading it does. */
export async function sendToSession(
  store: Store,
  session: string,
  message: Parameters<Store['send']>[1],
): Promise<number> {
  try {
    return await store.send(session, message);
  } catch (thrown) {
    const isUnknown = thrown instanceof RuntimeError && thrown.code === 'stream_unknown';
    throw isUnknown ? sessionUnknown(session, store.location) : thrown;
  }
}
