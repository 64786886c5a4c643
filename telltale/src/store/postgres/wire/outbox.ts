import { encodeMessage, inPayloads, type Poke } from './wire-message.ts';

/** What is to be sent, gathered while a notice is on its way: one transaction for all of it. */
export interface Outbox {
  /** In order, to a channel. False where too much waits: then it is left out. */
  add(channel: string, payload: string): boolean;
  /** Streams that moved; several moves of one are told as one. */
  poke(channel: string, stream: string, head: number, message: number): void;
  /** Nothing of it is sent. */
  drop(): void;
  /** Resolves when what was added before is sent, or lost. */
  drained(): Promise<void>;
  isEmpty(): boolean;
}

export interface OutboxDeps {
  readonly isUp: () => boolean;
  readonly notify: (messages: readonly (readonly [channel: string, payload: string])[]) => Promise<void>;
}

const MAX_WAITING = 20_000;
/** In one transaction: the server's queue of notices is locked until it is committed. */
const MAX_AT_ONCE = 500;

export function createOutbox({ isUp, notify }: OutboxDeps): Outbox {
  let waiting: (readonly [string, string])[] = [];
  let pokes = new Map<string, Map<string, Poke>>();
  let sending: Promise<void> | undefined;
  let isScheduled = false;

  const take = () => {
    for (const [channel, streams] of pokes)
      for (const some of inPayloads([...streams.values()]))
        waiting.push([channel, encodeMessage({ kind: 'pokes', pokes: some })]);
    pokes = new Map();
    const now = waiting.slice(0, MAX_AT_ONCE);
    waiting = waiting.slice(MAX_AT_ONCE);
    return now;
  };
  const send = async (): Promise<void> => {
    while (isUp() && waiting.length + pokes.size > 0) await notify(take());
  };
  const flush = () => {
    isScheduled = false;
    // What a broken connection lost is made up for when there is another.
    sending ??= send()
      .catch(() => undefined)
      .finally(() => {
        sending = undefined;
      });
  };
  const schedule = () => {
    if (isScheduled || sending !== undefined || !isUp()) return;
    isScheduled = true;
    setImmediate(flush);
  };

  return {
    add(channel, payload) {
      if (waiting.length >= MAX_WAITING) return false;
      waiting.push([channel, payload]);
      schedule();
      return true;
    },
    poke(channel, stream, head, message) {
      const streams = pokes.get(channel) ?? new Map<string, Poke>();
      const [, before = 0, last = 0] = streams.get(stream) ?? [];
      // Whoever hears of too many is told of none: everything is looked at every now and then.
      if (streams.size >= MAX_WAITING) return;
      streams.set(stream, [stream, Math.max(head, before), Math.max(message, last)]);
      pokes.set(channel, streams);
      schedule();
    },
    drop() {
      waiting = [];
      pokes = new Map();
    },
    async drained() {
      flush();
      await sending;
    },
    isEmpty: () => sending === undefined && waiting.length + pokes.size === 0,
  };
}
