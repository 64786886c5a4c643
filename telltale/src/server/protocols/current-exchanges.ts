import type { ReviewRequest } from '../../events/review-event.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { JsonObject } from '../../kernel/json.ts';
import { within } from '../../kernel/within.ts';
import type { Exchange } from './exchange/exchange.ts';
import { threadBusy } from './protocol-errors.ts';
import { threadKey } from './thread-table.ts';

/** An exchange that has begun, and how the session stood before. */
export interface Begun {
  readonly exchange: Exchange;
  /** Undefined of a new session, whose first event has it. */
  readonly metadata: JsonObject | undefined;
  /** Actions that had not ended, and reviews that nobody had answered. */
  readonly open: readonly string[];
  readonly reviews: readonly ReviewRequest[];
}

/** The exchange of a conversation that is under way, or about to begin. */
export interface Current {
  readonly thread: string;
  readonly agent: string;
  begun?: Begun;
  /** Whether it is being broken off. */
  stopping: boolean;
  /** Resolves once the next exchange may begin. */
  readonly over: Promise<void>;
  readonly end: () => void;
}

/** One of each conversation at a time. */
export interface CurrentExchanges {
  /** Waits for an exchange that is being broken off; refuses beside one that is not. */
  claim(agent: string, thread: string): Promise<Current>;
  all(): Iterable<Current>;
}

/** How long a message waits for an exchange that was broken off to end: a program is killed after five seconds. */
const STOPPING_MS = 15_000;

export function createCurrentExchanges(clock: Clock): CurrentExchanges {
  const currents = new Map<string, Current>();
  return {
    async claim(agent, thread) {
      const key = threadKey(agent, thread);
      for (let before = currents.get(key); before !== undefined; before = currents.get(key)) {
        const isOver = before.stopping && (await within(clock, STOPPING_MS, before.over)).kind === 'done';
        if (!isOver) throw threadBusy(thread, before.begun?.exchange.session.id);
      }
      let resolve: () => void = () => undefined;
      const over = new Promise<void>((done) => {
        resolve = done;
      });
      const current: Current = {
        thread,
        agent,
        stopping: false,
        over,
        end() {
          if (currents.get(key) === current) currents.delete(key);
          resolve();
        },
      };
      currents.set(key, current);
      return current;
    },
    all: () => currents.values(),
  };
}
