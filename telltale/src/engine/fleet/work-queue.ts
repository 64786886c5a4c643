import type { StreamKind } from '../engine.ts';

/** Something for any worker of a fleet to take: work on a stream. */
export interface WorkOffer {
  readonly kind: StreamKind;
  readonly stream: string;
  /** Whose share of the workers it takes: groups take turns while several wait. */
  readonly group: string;
  /** Workers that died with it in a row, where that is known. */
  readonly deaths?: number;
  /** Workers that cannot go on with it however often they try, as they are: see `workerId`. */
  readonly tried?: readonly string[];
}

/** Why an offer could not be worked on. */
export interface WhyNot {
  readonly code: string;
  readonly message: string;
  /** False where trying again in the same process changes nothing. Unknown where it is absent. */
  readonly retryable?: boolean;
}

export interface TakenOffer extends WorkOffer {
  /** Since it was offered. */
  readonly waitedMs: number;
  /** Tries before this one. */
  readonly retries: number;
  /** Somebody works on the stream now, or there is nothing to do: the offer is gone. */
  settled(): Promise<void>;
  /** It is offered again after a pause, and laid aside after the last try. */
  failed(why: WhyNot): Promise<'again' | 'aside'>;
  /** It is offered again at once, to a worker that is not among `tried`. */
  passedOn(tried: readonly string[]): Promise<void>;
  /** It is quarantined without another try. */
  quarantined(why: WhyNot, tried: readonly string[]): Promise<LaidAside>;
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
  /** For how long the oldest could have been taken; 0 where there is none. One that pauses after a try is not late. */
  readonly lagMs: number;
}

/**
 * What waits for a worker, over all machines. The log is the truth: an offer that is lost is made again by whoever finds
 * the stream with nobody at work on it (`SharedStore.orphans`), and one too many is settled at once.
 */
export interface WorkQueue {
  /**
   * Gives how many are new. A stream that is offered or taken already is left as it is, and so is one that was laid
   * aside, for `ASIDE_MS` or until it is offered with `again`.
   */
  offer(offers: readonly WorkOffer[], again?: 'again'): Promise<number>;
  /**
   * At most `most` offers, of each group in turn, the oldest of a group first; those of the groups in `last` only where
   * the others do not come to so many, and none of those in `never`. Each is another's again after `TAKEN_MS` unless it is
   * settled: see `tend`.
   */
  take(most: number, last?: ReadonlySet<string>, never?: ReadonlySet<string>): Promise<readonly TakenOffer[]>;
  /** Calls back when there may be something to take. */
  onOffered(wake: () => void): () => void;
  /** Whether it is the caller's turn to look after the fleet: once in `everyMs` for all machines together. */
  turn(everyMs: number): Promise<boolean>;
  /** Offers anew what was taken and neither settled nor failed in time; gives what was laid aside by that. */
  tend(): Promise<readonly LaidAside[]>;
  depth(): Promise<QueueDepth>;
  /** The newest first. */
  laidAside(limit: number): Promise<readonly LaidAside[]>;
  /** Lays streams aside without a try, until they are offered with `again`; gives those that were neither offered nor aside. */
  layAside(offers: readonly WorkOffer[], why: WhyNot): Promise<readonly LaidAside[]>;
  /** Streams that are quarantined no more: somebody works on them, or they have ended. */
  forget(streams: readonly Pick<WorkOffer, 'kind' | 'stream'>[]): Promise<void>;
  close(): Promise<void>;
}

/** The code at the end of a reason, where one is there. */
export const codeIn = (why: string): string | undefined => /\[(\w+)\]$/.exec(why)?.[1];

/** What a worker is known by among those that have tried an offer: with other agents it is another one. */
export const workerId = ({ key, agents = '' }: { readonly key?: string; readonly agents?: string }): string =>
  `${key ?? ''}.${agents}`;

/** An offer that is taken is settled within milliseconds, unless its worker has died. */
export const TAKEN_MS = 5_000;
/** Tries after the first, with pauses of 1 s, 2 s, 4 s and so on up to a minute, and as much again by chance. */
export const RETRIES = 8;
export const LONGEST_PAUSE_MS = 60_000;
/** What no machine could work on may be another's after that, or be mended: it gets its tries again. */
export const ASIDE_MS = 900_000;
/** Offers that are made or taken in one go. */
export const MAX_OFFERS = 1_000;

/** Workers that may die with a stream in a row while it gets nowhere; then it is laid aside until somebody says otherwise. */
export const MOST_DEATHS = 5;

export const offerKey = ({ kind, stream }: Pick<WorkOffer, 'kind' | 'stream'>): string => `${kind}/${stream}`;

/** Of an offer whose worker died, or took too long. */
export const NOT_SETTLED: WhyNot = {
  code: 'offer_expired',
  message: 'A worker took it and neither began nor gave it back: it has died, or its machine is too busy.',
};

/** Of a stream that workers die with. */
export const DEADLY: WhyNot = {
  code: 'workers_lost',
  message: `Its last ${MOST_DEATHS} workers died while they worked on it, and it got nowhere: it may take more memory than they have.`,
};
