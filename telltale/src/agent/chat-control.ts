import { withMethods } from '../lib/with-methods.ts';
import { createStop, type Stop } from './stop.ts';

/** How the person in front of a chat leads it. */
export interface Talk {
  /** Ends the exchange in hand; nothing where none is. */
  breakOff(): void;
  /** The person has nothing more to say. */
  finish(): void;
  readonly finished: boolean;
  /** Whether the end of the session is decided: what is said from there on has no agent to read it. */
  over: boolean;
  /** The last message for the agent that came onto the log: its number in the inbox. */
  heard: number;
  /** Calls back once, when the person finishes. The returned function forgets it. */
  onFinish(then: () => void): () => void;
  /** An exchange begins: what stops it stops with the session's own `stop`, too. */
  beginExchange(stop: Stop): ChatControlExchange;
}

export interface ChatControlExchange {
  readonly stop: Stop;
  /** It is over: breaking off concerns the next one. */
  end(): void;
}

interface OwnTalk extends Talk {
  // A field, not a getter: an object with a getter of its own is a table, 450 bytes more.
  finished: boolean;
  finishing: Set<() => void> | undefined;
  current: Stop | undefined;
}

const METHODS = { breakOff, finish, onFinish, beginExchange };

export const createTalk = (): Talk =>
  withMethods<OwnTalk, keyof typeof METHODS>(METHODS, {
    // A copy: docs/decisions/copies.md
    finished: false,
    over: false,
    heard: 0,
    finishing: undefined,
    current: undefined,
  });

function breakOff(this: OwnTalk): void {
  this.current?.now({ kind: 'cancel', reason: 'broken off', by: 'user' });
}

function finish(this: OwnTalk): void {
  this.finished = true;
  const told = this.finishing;
  this.finishing = undefined;
  for (const then of told ?? []) then();
}

function onFinish(this: OwnTalk, then: () => void): () => void {
  this.finishing ??= new Set();
  this.finishing.add(then);
  return () => this.finishing?.delete(then);
}

function beginExchange(this: OwnTalk, outer: Stop): ChatControlExchange {
  const stop = createStop();
  const forget = outer.onStop(() => outer.reason !== undefined && stop.now(outer.reason));
  this.current = stop;
  return {
    stop,
    end: () => {
      forget();
      if (this.current === stop) this.current = undefined;
    },
  };
}
