import type { ObservedEvent } from '../../events/event.ts';
import { tellAll } from '../../kernel/tell-all.ts';
import { createEventQueue } from '../event-queue.ts';
import { readSession } from '../read-session.ts';
import type { OnWaiting, Session, SessionResult } from '../runtime-types.ts';
import type { OpenSpeech } from '../speech.ts';
import { notAChat, steerSession } from '../steer-session.ts';
import { type FollowDeps, followSession } from './follow-session.ts';
import { resultOnLog } from './result-on-log.ts';

export interface DistantSessionOptions {
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
export function createDistantSession(
  deps: FollowDeps,
  id: string,
  { after = 0, onWaiting = 'hold', onError }: DistantSessionOptions,
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
      told(event) {
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
      await told(found.head);
      queue.end(found.head);
      return found.result;
    });
    return result;
  };
  /** As where it is worked on here: nobody has the result before the event that says so. */
  const told = (seq: number) =>
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
    speech(told: (open: OpenSpeech | undefined, seq: number) => void) {
      const here = deps.runtime.session(id);
      if (here === undefined) told(undefined, head);
      else here.speech(told);
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
