import type { Engine, StreamKind } from '../engine/engine.ts';
import type { WorkerCapacity } from '../engine/worker-capacity.ts';
import type { Clock } from '../lib/clock.ts';
import type { SharedStore } from '../store/shared-store.ts';
import type { Store } from '../store/store.ts';

/** What is known of the offers that wait. */
export interface WaitingRounds {
  /** The round that is taken from now: that of the first of all that wait; 0 where none does. */
  readonly current: number;
  /** By group, the round of its last that waits. */
  readonly last: ReadonlyMap<string, number>;
}

/**
 * The rounds in which offers are taken, one of each group a round, so that a group of a thousand keeps one of three
 * waiting for three rounds and not for a thousand offers. One that comes later joins the round that is being taken.
 */
export function offerRounds(groups: readonly string[], { current, last }: WaitingRounds): readonly number[] {
  const next = new Map(last);
  return groups.map((group) => {
    const round = Math.max(current, (next.get(group) ?? Number.NEGATIVE_INFINITY) + 1);
    next.set(group, round);
    return round;
  });
}

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
export interface WorkFailure {
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
  failed(why: WorkFailure): Promise<'again' | 'aside'>;
  /** It is offered again at once, to a worker that is not among `tried`. */
  passedOn(tried: readonly string[]): Promise<void>;
  /** It is quarantined without another try. */
  quarantined(why: WorkFailure, tried: readonly string[]): Promise<QuarantinedWork>;
}

/** An offer that nobody could work on. */
export interface QuarantinedWork extends WorkOffer {
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
  tend(): Promise<readonly QuarantinedWork[]>;
  depth(): Promise<QueueDepth>;
  /** The newest first. */
  laidAside(limit: number): Promise<readonly QuarantinedWork[]>;
  /** Lays streams aside without a try, until they are offered with `again`; gives those that were neither offered nor aside. */
  quarantine(offers: readonly WorkOffer[], why: WorkFailure): Promise<readonly QuarantinedWork[]>;
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
export const MAX_WORKER_LOSSES = 5;

export const offerKey = ({ kind, stream }: Pick<WorkOffer, 'kind' | 'stream'>): string => `${kind}/${stream}`;

/** Of an offer whose worker died, or took too long. */
export const NOT_SETTLED: WorkFailure = {
  code: 'offer_expired',
  message: 'A worker took it and neither began nor gave it back: it has died, or its machine is too busy.',
};

/** Of a stream that workers die with. */
export const DEADLY: WorkFailure = {
  code: 'workers_lost',
  message: `Its last ${MAX_WORKER_LOSSES} workers died while they worked on it, and it got nowhere: it may take more memory than they have.`,
};

/** The engine of one machine of many that share a store. */
export interface FleetEngine extends Engine {
  /** From here on this process takes what the fleet offers, and looks after it in its turn. */
  start(): void;
  /**
   * From here on it begins nothing more but what work in hand calls, or holds already. Resolves once nothing is about to
   * be begun. What is in hand goes on until it is let go of: then another process takes it up.
   */
  drain(): Promise<void>;
  load(): FleetLoad;
  /** How often work on a stream failed here and was offered again. */
  retries(): number;
  /** Has quarantined streams tried again that this process has not tried with the agents that it has now. */
  reconsider(): Promise<void>;
  /**
   * Where something new would be worked on: `here` at once, by whoever has room first (`queue`), or so late that it
   * had better be asked for again (`full`). `now`: somebody waits for it to begin, so that it is queued only where another
   * process has a place free.
   */
  admit(how?: 'now'): Promise<Admission>;
  depth(): Promise<QueueDepth>;
}

export type Admission = 'here' | 'queue' | 'full';

export interface FleetLoad {
  /** Streams that are worked on, or are about to be. What they call is not counted. */
  readonly working: number;
  readonly capacity: number;
  readonly draining: boolean;
}

export interface FleetEngineOptions {
  readonly store: Pick<Store, 'send' | 'info'>;
  readonly shared: Pick<SharedStore, 'orphans' | 'onOrphans' | 'workers' | 'isAlive' | 'forgive'>;
  /** Stays open when the engine closes. */
  readonly queue: WorkQueue;
  readonly clock: Clock;
  /** From 0 up to 1. */
  readonly random: () => number;
  /** Streams that this process works on at once; 0 where it works on none but those that it holds or waits for. */
  readonly capacity: number;
  /** What the process shares with its sessions, as many as `capacity`: those take places as well. */
  readonly places?: WorkerCapacity | undefined;
  /** What this process calls itself in its `WorkerNote`. */
  readonly key?: string;
  /** A digest of the agents that it has. */
  readonly agents?: () => string;
  /** Told of each failure after which a stream is offered again. */
  readonly onRetry?: (offer: WorkOffer, why: WorkFailure) => void;
  readonly onError: (thrown: unknown, about?: { readonly kind: StreamKind; readonly stream: string }) => void;
  /** A stream was given up for now, since no process could work on it. */
  readonly onQuarantined?: (aside: QuarantinedWork) => void;
}
