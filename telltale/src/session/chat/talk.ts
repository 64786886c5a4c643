import { createStop, type Stop } from '../stop.ts';

/** How the person in front of a chat leads it. */
export interface Talk {
  /** Ends the exchange in hand; nothing where none is. */
  breakOff(): void;
  /** The person has nothing more to say. */
  finish(): void;
  readonly finished: boolean;
  /** Calls back once, when the person finishes. The returned function forgets it. */
  onFinish(then: () => void): () => void;
  /** An exchange begins: what stops it stops with the session's own `stop`, too. */
  beginExchange(stop: Stop): Exchange;
}

export interface Exchange {
  readonly stop: Stop;
  /** It is over: breaking off concerns the next one. */
  end(): void;
}

export function createTalk(): Talk {
  let finishing: Set<() => void> | undefined;
  let finished = false;
  let current: Stop | undefined;
  return {
    breakOff() {
      current?.now({ kind: 'cancel', reason: 'broken off', by: 'user' });
    },
    finish() {
      finished = true;
      const told = finishing;
      finishing = undefined;
      for (const then of told ?? []) then();
    },
    get finished() {
      return finished;
    },
    onFinish(then) {
      finishing ??= new Set();
      finishing.add(then);
      return () => finishing?.delete(then);
    },
    beginExchange(outer) {
      const stop = createStop();
      const forget = outer.onStop(() => outer.reason !== undefined && stop.now(outer.reason));
      current = stop;
      return {
        stop,
        end() {
          forget();
          if (current === stop) current = undefined;
        },
      };
    },
  };
}
