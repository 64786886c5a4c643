import { createStop, type Stop } from './stop.ts';

/** How the person in front of a chat leads it. */
export interface ChatControl {
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

export const createChatControl = (): ChatControl => new LiveChatControl();

class LiveChatControl implements ChatControl {
  finished = false;
  over = false;
  heard = 0;
  private finishing = new Set<() => void>();
  private current: Stop | undefined;

  breakOff(): void {
    this.current?.now({ kind: 'cancel', reason: 'broken off', by: 'user' });
  }

  finish(): void {
    this.finished = true;
    const listeners = this.finishing;
    this.finishing = new Set();
    for (const then of listeners) then();
  }

  onFinish(then: () => void): () => void {
    this.finishing.add(then);
    return () => this.finishing.delete(then);
  }

  beginExchange(outer: Stop): ChatControlExchange {
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
}
