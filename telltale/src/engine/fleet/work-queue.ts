import type { StreamKind } from '../engine.ts';

/** Something for any worker of a fleet to take: work on a stream. */
export interface WorkOffer {
  readonly kind: StreamKind;
  readonly stream: string;
  /** Whose share of the workers it takes: no group has more than its share while others wait. */
  readonly group: string;
}

export interface TakenOffer extends WorkOffer {
  /** Since it was offered. */
  readonly waitedMs: number;
  /** Tries before this one. */
  readonly retries: number;
  /** Somebody works on the stream now, or there is nothing to do: the offer is gone. */
  settled(): Promise<void>;
  /** It is offered again after a pause, and laid aside after the last try. */
  failed(why: { readonly code: string; readonly message: string }): Promise<void>;
}

/** An offer that nobody could work on. */
export interface LaidAside extends WorkOffer {
  readonly at: number;
  readonly why: string;
}

export interface QueueDepth {
  readonly waiting: number;
  readonly taken: number;
  readonly laidAside: number;
  /** For how long the oldest has been waiting; 0 where none does. */
  readonly lagMs: number;
}

/**
 * What waits for a worker, over all machines. The log is the truth: an offer that is lost is made again by whoever finds
 * the stream with nobody at work on it (`SharedStore.orphans`), and one too many is settled at once.
 */
export interface WorkQueue {
  /** A stream that is offered, taken or laid aside already is left as it is; `again`: laid aside ones are offered anew. */
  offer(offers: readonly WorkOffer[], again?: 'again'): Promise<void>;
  /** At most `most` offers; each is another's again after a while unless it is settled. */
  take(most: number): Promise<readonly TakenOffer[]>;
  /** Calls back when there may be something to take. */
  onOffered(wake: () => void): () => void;
  depth(): Promise<QueueDepth>;
  laidAside(limit: number): Promise<readonly LaidAside[]>;
  close(): Promise<void>;
}
