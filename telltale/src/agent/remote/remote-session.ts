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
  /** The first listener is told of what comes behind this event; 0 by default. */
  readonly after?: number;
  /** `release`: its result is that it waits for a person, where it does. `hold`, by default: the result comes later. */
  readonly onWaiting?: OnWaiting;
  /** What no caller can be told of: a log that cannot be read for listeners. */
  readonly onError: (thrown: unknown) => void;
}

/**
 * A session that another process works on, that waits for one to do so, or that nobody works on: as one that is worked on
 * here, but by the log, the wire and the inbox. Nothing is read or listened to before somebody listens, or wants its result.
 * To interrupt it does nothing: it is not this process that would let go of it.
 */
export function createRemoteSession(
  deps: RemoteSessionFollowDeps,
  id: string,
  { after = 0, onWaiting = 'hold', onError }: RemoteSessionOptions,
): Session<unknown> {
  const { store } = deps.runtime;
  const listeners = new Set<(event: ObservedEvent) => void>();
  let head = after;
  /** Those who wait until listeners were told all up to the result. */
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
  /** As where it is worked on here: nobody has the result before the event that says so. */
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
        ended().catch(() => undefined); // whoever waits for the result hears of it there
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
  /** The last event of its log by then. */
  readonly head: number;
}

/** How a session ended, by its log, once it has; with `release` also that it waits, for a person or what it called. */
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

/** A chat that waits for its next message has not come to a result. */
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
  /** The last durable event that is known already. */
  readonly after: number;
  readonly onEvent: (event: ObservedEvent) => void;
  /** The log could not be read; it is read again when it moves. */
  readonly onFailure: (thrown: unknown) => void;
}

/** Lines that are read at a time. */
const PAGE = 500;
/** Events that wait until the log was read up to them; with more, it is begun anew. */
const MAX_WAITING = 4_096;

/**
 * The events of a session, wherever it is worked on and wherever it moves: each durable one behind `after` once and in
 * order, live ones in their place for as long as they can be had. Whoever joins in the middle is told what is open as
 * deltas. The returned function ends it.
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

  /** What is on the log already is read there first; what comes meanwhile waits. */
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
      waiting = []; // what came before is in it, or on the log
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
