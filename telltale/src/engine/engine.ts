import type { InboxMessage } from '../store/store.ts';

/** The kinds of streams that are worked on. */
export type StreamKind = 'session' | 'run';

/** How work on a stream ended: for good, or until something happens. */
export type WorkEnd =
  | { readonly kind: 'done' }
  /** Nothing is left to do until that time or a signal. */
  | { readonly kind: 'waiting'; readonly due?: number }
  /** This process cannot do the work, but another one of a fleet may. `due` is when to try again here. */
  | {
      readonly kind: 'unable';
      readonly why: { readonly code: string; readonly message: string; readonly retryable?: boolean };
      readonly due?: number;
    };

/**
 * Works on a stream until there is nothing to do. The signal is aborted when the engine closes, and the work
 * then releases the stream. `taken` is called once the stream is owned and can continue. Until then another
 * process may take it.
 */
export type Work = (stream: string, signal: AbortSignal, taken: () => void) => Promise<WorkEnd>;

/** A recurring schedule. */
export type Schedule =
  | { readonly cron: string; readonly timezone: string }
  /** Counted from `from`, so that a restart does not shift the times. */
  | { readonly everyMs: number; readonly from: number };

/**
 * Decides where and when a stream is worked on. The truth is on the log: losing an engine's memory loses no
 * work, because every start dispatches the open streams of the store. All engines pass one contract suite.
 */
export interface Engine {
  /**
   * Who remembers waiting streams: only this process, or the whole fleet, so that this process may forget
   * them.
   */
  readonly remembers: 'here' | 'fleet';
  /** Registers the work for a kind of streams. Call it once per kind, before anything is dispatched. */
  onWork(kind: StreamKind, work: Work): void;
  /**
   * Has a stream worked on as soon as may be; returns at once. One that is being worked on is looked at once more
   * afterwards. Errors of the work are the work's to record; one that escapes goes to `onError`. `called`: work in hand
   * waits for it, so it does not wait for its turn: a thousand runs that each call another would else hold all places.
   * `here`: this process holds the stream or waits for its end: it is given to no other, however long its turn takes.
   * `group`: the session or run at the top that it comes from. Where streams wait for their turn, groups take turns, so
   * that one that places ten thousand makes no other wait for them. A stream without one is its own; it is known until
   * the stream is forgotten.
   * Gives whether it is worked on by this process, if by any. `elsewhere` means that it is offered to others: whoever
   * holds the stream then lets go of it.
   */
  dispatch(kind: StreamKind, stream: string, how?: 'called' | 'here', group?: string): 'here' | 'elsewhere';
  /** Dispatches a stream at that time at the latest. The earliest of several times counts. */
  wakeAt(kind: StreamKind, stream: string, due: number): void;
  /** Sends a durable message to a stream's inbox and dispatches the stream. */
  signal(kind: StreamKind, stream: string, message: Omit<InboxMessage, 'id' | 'at'>): Promise<void>;
  /** Calls `fire` with the time that was due, each time once. What came due while nobody ran is not made up for here: who places it does (`openTimetable`). */
  schedule(name: string, schedule: Schedule, fire: (due: number) => void): () => void;
  /** Whether this process has no capacity left, so that new work is better left to others. */
  isFull(): boolean;
  /** Resolves once no stream is worked on or dispatched. Streams that wait for a time do not count. */
  idle(): Promise<void>;
  /** The streams that are worked on or dispatched. */
  busy(): readonly { readonly kind: StreamKind; readonly stream: string }[];
  /** When the next waiting stream is due. */
  nextDue(): number | undefined;
  /** Aborts all work, waits for it, and forgets the rest. */
  close(): Promise<void>;
}
