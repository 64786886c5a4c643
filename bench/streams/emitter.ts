import type { LiveEvent, SessionEvent } from '../../telltale/src/log/event.ts';
import { type Scene, sessionName, sharedMs } from './scene.ts';

export type Emitted = LiveEvent | SessionEvent;

/** Sessions that talk: deltas of a response, then the response as it stands on the log, and so on. Each text begins with an @ and the time it was said. */
export interface Emitter {
  subscribe(session: string, listener: (event: Emitted) => void): () => void;
  start(): void;
  stop(): void;
}

const WORDS = 'and then a few words more of what the model says';
/** A response of 25 deltas of ten words. */
const LOGGED_EVERY = 25;
/** What is late by more than that is not made up for. */
const MAX_LATE_MS = 200;

export function createEmitter({ sessions, eventsPerSecond }: Scene): Emitter {
  const listeners = new Map<string, Set<(event: Emitted) => void>>();
  const names = Array.from({ length: sessions }, (_, n) => sessionName(n));
  const said = new Uint32Array(sessions);
  let timer: ReturnType<typeof setInterval> | undefined;
  let next = 0;

  const emit = (n: number) => {
    const session = names[n]!;
    const text = `@${sharedMs()} ${WORDS}`;
    const count = ++said[n]!;
    const event: Emitted =
      count % LOGGED_EVERY === 0
        ? {
            type: 'response',
            text,
            final: false,
            seq: count / LOGGED_EVERY,
            at: Date.now(),
            session,
            turn: 1,
            cause: { stream: session, seq: 1, depth: 2 },
          }
        : { type: 'response.delta', session, turn: 1, text };
    for (const listener of listeners.get(session) ?? []) listener(event);
  };

  return {
    subscribe(session, listener) {
      const own = listeners.get(session) ?? new Set();
      listeners.set(session, own.add(listener));
      return () => own.delete(listener);
    },
    start() {
      const perMs = (sessions * eventsPerSecond) / 1000;
      let from = performance.now();
      let done = 0;
      timer = setInterval(() => {
        const passed = performance.now() - from;
        if (passed * perMs - done > MAX_LATE_MS * perMs) {
          from = performance.now();
          done = 0;
          return;
        }
        for (const due = Math.floor(passed * perMs); done < due; done++) {
          emit(next);
          next = (next + 1) % sessions;
        }
      }, 1);
    },
    stop() {
      clearInterval(timer);
    },
  };
}
