import type { Clock } from '../../lib/clock.ts';
import { tellAll } from '../../lib/errors.ts';
import { decodeEvent } from '../../log/codec.ts';
import type { ObservedEvent } from '../../log/event.ts';
import { usageOf } from '../../log/event.ts';
import { openReviews } from '../../log/reviews.ts';
import type { SessionState } from '../../log/state.ts';
import type { Store } from '../../store/store.ts';
import { hasEnded } from '../ending/has-ended.ts';
import { createEventQueue } from '../event-queue.ts';
import { notAChat, steerSession } from '../messages.ts';
import { readSession } from '../read-session.ts';
import type { OnWaiting, Runtime, Session, SessionResult } from '../runtime-types.ts';
import { createSpeechSoFar, type OpenSpeech } from '../speech.ts';
import { followRemote } from './follow-remote.ts';

export interface RemoteSessionOptions {
  /** The first listener gets the events after this one; 0 by default. */
  readonly after?: number;
  /**
   * `release`: the result resolves when the session waits for a person. `hold`, the default: it resolves at
   * the end.
   */
  readonly onWaiting?: OnWaiting;
  /** Reports errors that no caller gets, such as a log that cannot be read for listeners. */
  readonly onError: (thrown: unknown) => void;
}

/**
 * A session that another process, or nobody, works on, with the interface of a local session. It uses the
 * log, live events and the inbox. Nothing is read before somebody listens or asks for the result. `interrupt`
 * does nothing, because this process does not own the session.
 */
export function createRemoteSession(
  deps: RemoteSessionFollowDeps,
  id: string,
  { after = 0, onWaiting = 'hold', onError }: RemoteSessionOptions,
): Session<unknown> {
  const { store } = deps.runtime;
  const listeners = new Set<(event: ObservedEvent) => void>();
  let head = after;
  /** Called after each event, for those who wait until all events before the result were delivered. */
  let onTold: (() => void) | undefined;
  let unfollow: (() => void) | undefined;
  let result: Promise<SessionResult<unknown>> | undefined;

  const subscribe = (listener: (event: ObservedEvent) => void) => {
    const own = (event: ObservedEvent) => listener(event);
    listeners.add(own);
    unfollow ??= followSession(deps, id, {
      after: head,
      onEvent(event) {
        if ('seq' in event) head = event.seq;
        tellAll(listeners, event);
        onTold?.();
      },
      onFailure: onError,
    });
    return () => {
      listeners.delete(own);
      if (listeners.size > 0) return;
      unfollow?.();
      unfollow = undefined;
      onTold?.();
    };
  };
  const ended = (): Promise<SessionResult<unknown>> => {
    result ??= resultOnLog(store, id, onWaiting).then(async (found) => {
      await onEvent(found.head);
      queue.end(found.head);
      return found.result;
    });
    return result;
  };
  /** Waits until listeners have the event. As for local sessions, the result comes after its event. */
  const onEvent = (seq: number) =>
    new Promise<void>((resolve) => {
      onTold = () => {
        if (listeners.size === 0 || head >= seq) resolve();
      };
      onTold();
    });
  const queue = createEventQueue(store, id, Promise.resolve());
  queue.attach({ subscribe });

  return {
    id,
    events: {
      [Symbol.asyncIterator]() {
        ended().catch(() => undefined); // the error is reported by `result`
        return queue[Symbol.asyncIterator]();
      },
    },
    get result() {
      return ended();
    },
    subscribe,
    speech(onEvent: (open: OpenSpeech | undefined, seq: number) => void) {
      const here = deps.runtime.session(id);
      if (here === undefined) onEvent(undefined, head);
      else here.speech(onEvent);
    },
    steer: (text) => steerSession({ store, clock: deps.clock }, id, text),
    async say(text) {
      if ((await readSession(store, id)).chat !== true) throw notAChat(id);
      await store.send(id, { kind: 'message', from: 'user', body: text });
    },
    breakOff() {
      store.send(id, { kind: 'break_off', from: 'user', body: '' }).catch(onError);
    },
    finish() {
      store.send(id, { kind: 'finish', from: 'user', body: '' }).catch(onError);
    },
    async cancel(reason = 'asked to') {
      await store.send(id, { kind: 'cancel', from: 'user', body: reason });
      await ended();
    },
    interrupt: () => Promise.resolve(),
    prompt: (turn) => deps.runtime.prompt(id, turn),
  };
}

interface RemoteResult {
  readonly result: SessionResult;
  /** The last event of its log at that time. */
  readonly head: number;
}

/** Resolves with the result on the log once the session has ended, or with `release` once it waits. */
function resultOnLog(store: Store, session: string, onWaiting: OnWaiting): Promise<RemoteResult> {
  return new Promise((resolve, reject) => {
    let isLooking = false;
    let again = false;
    const look = async () => {
      do {
        again = false;
        const found = await resultNow(store, session, onWaiting);
        if (found === undefined) continue;
        unwatch();
        resolve(found);
        return;
      } while (again);
    };
    const moved = () => {
      again = true;
      if (isLooking) return;
      isLooking = true;
      look()
        .catch((thrown: unknown) => {
          unwatch();
          reject(thrown);
        })
        .finally(() => {
          isLooking = false;
        });
    };
    const unwatch = store.watch(session, moved);
    moved();
  });
}

async function resultNow(
  store: Store,
  session: string,
  onWaiting: OnWaiting,
): Promise<RemoteResult | undefined> {
  const status = (await store.info(session))?.status;
  if (status === undefined || !(hasEnded(status) || (status === 'waiting' && onWaiting === 'release')))
    return undefined;
  const state = await readSession(store, session);
  return isOver(state, onWaiting) ? { result: resultOf(state), head: state.seq } : undefined;
}

/** A chat that waits for its next message has no result yet. */
const isOver = (state: SessionState, onWaiting: OnWaiting): boolean =>
  hasEnded(state.status) || (onWaiting === 'release' && state.status === 'waiting' && !state.idle);

function resultOf(state: SessionState): SessionResult {
  const { id, result, error, totals } = state;
  const status = state.status === 'running' ? 'interrupted' : state.status;
  return {
    session: id,
    status,
    turns: totals.turns,
    cost_usd: totals.cost_usd,
    ...(status !== 'completed' || result === undefined ? {} : { result }),
    ...(error === undefined ? {} : { error }),
    ...(status === 'waiting' ? { reviews: openReviews(state) } : {}),
    usage: usageOf(totals),
  };
}

export interface RemoteSessionFollowDeps {
  readonly runtime: Pick<Runtime, 'store' | 'session' | 'prompt'>;
  readonly clock: Clock;
}

export interface RemoteSessionFollowOptions {
  /** The last known durable event. */
  readonly after: number;
  readonly onEvent: (event: ObservedEvent) => void;
  /** The log could not be read. It is read again when it changes. */
  readonly onFailure: (thrown: unknown) => void;
}

/** Lines read per page. */
const PAGE = 500;
/** Events that may wait until the log was read up to them. With more, following starts anew. */
const MAX_WAITING = 4_096;

/**
 * Follows a session wherever it is worked on, also when it moves: each durable event after `after` once and
 * in order, and live events at their positions. A follower that joins in the middle gets the open speech as
 * deltas. The returned function stops following.
 */
function followSession(
  { runtime, clock }: RemoteSessionFollowDeps,
  session: string,
  { after, onEvent, onFailure }: RemoteSessionFollowOptions,
): () => void {
  const { store } = runtime;
  const soFar = createSpeechSoFar();
  let head = after;
  let isClosed = false;
  let stop: () => void = () => undefined;

  const page = (from: number) => store.read(session, { from, limit: PAGE });
  const tell = (event: ObservedEvent) => {
    if (isClosed) return;
    if ('seq' in event) {
      if (event.seq <= head) return;
      head = event.seq;
    }
    soFar.note(event);
    onEvent(event);
  };
  const onOpenSpeech = (open: OpenSpeech | undefined) => {
    if (open !== undefined) for (const event of soFar.missing(session, open)) tell(event);
  };

  const attach = () => {
    stop();
    if (isClosed) return;
    const here = runtime.session(session);
    if (here !== undefined) {
      stop = followHere(here);
      return;
    }
    const live = store.shared?.live;
    const follow = followRemote({ store, page, live, clock }, session, head, {
      onEvent: tell,
      onOpenSpeech,
      onFailure,
      moved() {
        if (runtime.session(session) !== undefined) attach();
      },
    });
    stop = follow.close;
  };

  /** Reads the log first. Events that arrive meanwhile wait. */
  const followHere = (here: Session<unknown>): (() => void) => {
    let waiting: ObservedEvent[] | undefined = [];
    let isLeft = false;
    const unsubscribe = here.subscribe((event) => {
      if (waiting === undefined) tell(event);
      else if (waiting.push(event) > MAX_WAITING) attach();
    });
    const begin = (open: OpenSpeech | undefined) => {
      if (isLeft) return;
      onOpenSpeech(open);
      const due = waiting ?? [];
      waiting = undefined;
      for (const event of due) tell(event);
    };
    here.speech((open, seq) => {
      waiting = []; // earlier events are included in it or on the log
      if (seq <= head) begin(open);
      else readTo(seq, () => isLeft).then(() => begin(open), onFailure);
    });
    const letGo = () => {
      if (!isLeft) attach();
    };
    here.result.then(letGo, letGo);
    return () => {
      isLeft = true;
      unsubscribe();
    };
  };

  const readTo = async (seq: number, isLeft: () => boolean) => {
    while (head < seq && !isClosed && !isLeft()) {
      const lines = await page(head + 1);
      if (lines.length === 0) return;
      for (const line of lines) tell(decodeEvent(line, session));
    }
  };

  attach();
  return () => {
    isClosed = true;
    stop();
  };
}
