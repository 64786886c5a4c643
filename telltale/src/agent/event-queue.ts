import { decodeEvent } from '../log/codec.ts';
import type { ObservedEvent, SessionEvent } from '../log/event.ts';
import type { Store } from '../store/store.ts';

/** Events that wait for a reader; one that is further behind reads the log instead. */
const MAX_QUEUED = 4_096;
/** Events that are read from the log at a time. */
const PAGE = 1_000;

interface EventQueueSource {
  subscribe(listener: (event: ObservedEvent) => void): () => void;
}

export interface EventQueue extends AsyncIterable<ObservedEvent> {
  /** Where events come from, once there is such a place, or another one. Nothing is asked of it before somebody reads. */
  attach(source: EventQueueSource): void;
  /** Nothing comes any more: readers end once they have read all up to `lastSeq`, which is committed. */
  end(lastSeq: number): void;
}

/**
 * What `session.events` is: each reader gets every durable event once, in order, from `from` on, and live events for as
 * long as it keeps up. A slow reader costs a bounded amount of memory: it is put off to the log, which is there once
 * `ready` resolves.
 */
export const createEventQueue = (store: Store, session: string, ready: Promise<unknown>): EventQueue =>
  new SessionEventQueue(store, session, ready);

class SessionEventQueue implements EventQueue {
  private readonly store: Store;
  private readonly session: string;
  private readonly ready: Promise<unknown>;
  private readonly readers = new Set<EventQueueReader>();
  private lastSeq: number | undefined;
  private source: EventQueueSource | undefined;
  /** Undefined while nobody reads: then the session need not show anything. */
  private unsubscribe: (() => void) | undefined;

  constructor(store: Store, session: string, ready: Promise<unknown>) {
    this.store = store;
    this.session = session;
    this.ready = ready;
  }

  attach(source: EventQueueSource): void {
    this.unsubscribe?.();
    this.unsubscribe = undefined;
    this.source = source;
    this.listen();
  }

  end(seq: number): void {
    this.lastSeq = seq;
    for (const reader of this.readers) reader.wake();
  }

  [Symbol.asyncIterator](): AsyncIterator<ObservedEvent> & AsyncIterable<ObservedEvent> {
    const reader = createReader();
    // One that is there before the first event misses none: what it need not read, live events cannot fall behind.
    const isLate = this.source !== undefined;
    this.readers.add(reader);
    this.listen();
    const events = this.iterate(reader, isLate);
    const iterator = {
      next: () => events.next(),
      // A generator that has not begun, or waits, would not hear of it: the reader would stay for as long as the session.
      return: () => {
        this.leave(reader);
        return events.return();
      },
      [Symbol.asyncIterator]: () => iterator,
    };
    return iterator;
  }

  private listen(): void {
    const { readers } = this;
    if (this.unsubscribe !== undefined || this.source === undefined || readers.size === 0) return;
    this.unsubscribe = this.source.subscribe((event) => {
      for (const reader of readers) reader.push(event);
    });
  }

  private leave(reader: EventQueueReader): void {
    reader.leave();
    this.readers.delete(reader);
    if (this.readers.size > 0) return;
    this.unsubscribe?.();
    this.unsubscribe = undefined;
  }

  private async *iterate(reader: EventQueueReader, isLate: boolean): AsyncGenerator<ObservedEvent, void> {
    let next = 1;
    /** Whether the log may hold more than has been read of it. */
    let behind = isLate;
    try {
      await this.ready;
      while (!reader.hasLeft) {
        if (behind) {
          const missed = await this.page(next);
          behind = missed.length > 0;
          if (!behind) reader.forget(next);
          for (const event of missed) {
            next = event.seq + 1;
            yield event;
          }
          continue;
        }
        if (reader.hasDropped) {
          reader.hasDropped = false;
          behind = true; // what is live now came behind what was dropped
          continue;
        }
        const { lastSeq } = this;
        const event = reader.shift();
        if (event === undefined) {
          if (lastSeq !== undefined && next > lastSeq) return;
          if (lastSeq === undefined) await reader.more();
          else behind = true;
        } else if (!('seq' in event)) yield event;
        else if (event.seq === next) {
          next++;
          yield event;
        } else if (event.seq > next) {
          reader.unshift(event);
          behind = true;
        }
      }
    } finally {
      this.leave(reader);
    }
  }

  private async page(from: number): Promise<readonly SessionEvent[]> {
    const { store, session } = this;
    // A reader may be quicker than the session's first event: there is no log yet.
    if (from === 1 && (await store.info(session)) === undefined) return [];
    const lines = await store.read(session, { from, limit: PAGE });
    return lines.map((line) => decodeEvent(line, session));
  }
}

interface EventQueueReader {
  push(event: ObservedEvent): void;
  shift(): ObservedEvent | undefined;
  unshift(event: ObservedEvent): void;
  /** Drops durable events before `seq`, which were read elsewhere, and the live ones in front of them: they are no news. */
  forget(seq: number): void;
  wake(): void;
  more(): Promise<void>;
  /** Nobody reads any more. */
  leave(): void;
  readonly hasLeft: boolean;
  /** Whether some were too many for the queue: the durable ones among them are on the log. */
  hasDropped: boolean;
}

function createReader(): EventQueueReader {
  let queue: ObservedEvent[] = [];
  let at = 0;
  let wake: (() => void) | undefined;
  const notify = () => {
    wake?.();
    wake = undefined;
  };
  const reader: EventQueueReader & { hasLeft: boolean } = {
    hasLeft: false,
    hasDropped: false,
    leave() {
      reader.hasLeft = true;
      queue = [];
      at = 0;
      notify();
    },
    push(event) {
      // What is dropped here is found again on the log, from the next durable event on.
      if (queue.length - at >= MAX_QUEUED) {
        queue = [];
        at = 0;
        reader.hasDropped = true;
      }
      queue.push(event);
      notify();
    },
    shift() {
      const event = queue[at];
      if (event === undefined) return undefined;
      at++;
      if (at === queue.length) {
        queue = [];
        at = 0;
      }
      return event;
    },
    unshift(event) {
      queue = [event, ...queue.slice(at)];
      at = 0;
    },
    forget(seq) {
      const last = queue.findLastIndex((event, index) => index >= at && 'seq' in event && event.seq < seq);
      if (last === -1) return;
      queue = queue.slice(last + 1);
      at = 0;
    },
    wake: notify,
    more: () =>
      new Promise((resolve) => {
        if (at < queue.length) resolve();
        else wake = resolve;
      }),
  };
  return reader;
}
