import type { InboxMessage } from '../store/store.ts';

/** What is worked on. */
export type StreamKind = 'session' | 'run';

/** How a piece of work on a stream came to its end: for good, or until something comes. */
export type WorkEnd =
  | { readonly kind: 'done' }
  /** Nothing is to be done before that time, or before a signal. */
  | { readonly kind: 'waiting'; readonly due?: number }
  /** There is something to do, but not for this process: another of a fleet may. `due` is when to try again here. */
  | {
      readonly kind: 'unable';
      readonly why: { readonly code: string; readonly message: string; readonly retryable?: boolean };
      readonly due?: number;
    };

/**
 * Works on a stream until there is nothing to do. The signal is aborted when the engine closes: then it lets go.
 * `taken` is called once the stream is held and can be gone on with: until then another may do it as well.
 */
export type Work = (stream: string, signal: AbortSignal, taken: () => void) => Promise<WorkEnd>;

/** When something is due again and again. */
export type Schedule =
  | { readonly cron: string; readonly timezone: string }
  /** Counted from `from`, so that a restart does not shift it. */
  | { readonly everyMs: number; readonly from: number };

/**
 * Decides where and when a stream is worked on, and nothing else: what is true, the log says. Losing an engine's memory
 * loses no work: whoever starts again places what the store shows as alive. One contract suite holds for every engine.
 */
export interface Engine {
  /** Who knows that a stream waits: this process alone, or all of a fleet, so that this one may forget it. */
  readonly remembers: 'here' | 'fleet';
  /** Says who works on streams of a kind. Once for each kind, before anything is placed. */
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
  /** Has a stream worked on at that time at the latest. The earliest of several counts. */
  wakeAt(kind: StreamKind, stream: string, due: number): void;
  /** Puts a message into a stream's inbox, durably, and has it worked on. */
  signal(kind: StreamKind, stream: string, message: Omit<InboxMessage, 'id' | 'at'>): Promise<void>;
  /** Calls `fire` with the time that was due, each time once. What came due while nobody ran is not made up for here: who places it does (`openTimetable`). */
  schedule(name: string, schedule: Schedule, fire: (due: number) => void): () => void;
  /** Whether what is begun now had better be let go of and left to others: this process has all that it works on at once. */
  isFull(): boolean;
  /** Resolves once nothing is being worked on and nothing is placed; what only waits for a time does not count. */
  idle(): Promise<void>;
  /** What is worked on or placed now. */
  busy(): readonly { readonly kind: StreamKind; readonly stream: string }[];
  /** When the next stream is due that only waits for a time. */
  nextDue(): number | undefined;
  /** Aborts what is worked on, waits for it, and forgets the rest. */
  close(): Promise<void>;
}
