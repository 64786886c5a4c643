import type { Engine, StreamKind } from '../engine/engine.ts';
import type { WorkerCapacity } from '../engine/worker-capacity.ts';
import type { Clock } from '../lib/clock.ts';
import type { SharedStore } from '../store/shared-store.ts';
import type { Store } from '../store/store.ts';

/** The rounds of waiting offers. */
export interface WaitingRounds {
  /** The current round: that of the first waiting offer, or 0 if there is none. */
  readonly current: number;
  /** The last round of each group. */
  readonly last: ReadonlyMap<string, number>;
}

/**
 * Assigns rounds to offers, one per group and round, so that a group of a thousand keeps a group of three
 * waiting for three rounds instead of a thousand offers. A later offer joins the current round.
 */
export function offerRounds(groups: readonly string[], { current, last }: WaitingRounds): readonly number[] {
  const next = new Map(last);
  return groups.map((group) => {
    const round = Math.max(current, (next.get(group) ?? Number.NEGATIVE_INFINITY) + 1);
    next.set(group, round);
    return round;
  });
}

/** Work on a stream that any worker of the fleet may take. */
export interface WorkOffer {
  readonly kind: StreamKind;
  readonly stream: string;
  /** Its group. Groups take turns while several wait. */
  readonly group: string;
  /** How many workers in a row died while working on it, if known. */
  readonly deaths?: number;
  /** Workers that cannot continue it, however often they try. See `workerId`. */
  readonly tried?: readonly string[];
}

/** Why an offer could not be worked on. */
export interface WorkFailure {
  readonly code: string;
  readonly message: string;
  /** False if trying again in the same process cannot help. Absent if unknown. */
  readonly retryable?: boolean;
}

export interface TakenOffer extends WorkOffer {
  /** The time since it was offered. */
  readonly waitedMs: number;
  /** Earlier attempts. */
  readonly retries: number;
  /** Removes the offer, because somebody works on the stream or there is nothing to do. */
  settled(): Promise<void>;
  /** Offers it again after a pause, and quarantines it after the last attempt. */
  failed(why: WorkFailure): Promise<'again' | 'aside'>;
  /** Offers it again at once, to a worker that is not in `tried`. */
  passedOn(tried: readonly string[]): Promise<void>;
  /** Quarantines it without another attempt. */
  quarantined(why: WorkFailure, tried: readonly string[]): Promise<QuarantinedWork>;
}

/** Work that no worker could do. */
export interface QuarantinedWork extends WorkOffer {
  readonly at: number;
  readonly why: string;
}

export interface QueueDepth {
  readonly waiting: number;
  readonly taken: number;
  readonly laidAside: number;
  /** How long the oldest offer has been available, or 0. Pauses after an attempt do not count. */
  readonly lagMs: number;
}

/**
 * Work that waits for a worker, over all machines. The log is the truth: a lost offer is repeated when the
 * stream is found without an owner (`SharedStore.orphans`), and a superfluous one is removed at once.
 */
export interface WorkQueue {
  /**
   * Returns how many offers are new. A stream that is offered or taken already is left as it is. So is a
   * quarantined one, for `ASIDE_MS` or until it is offered with `again`.
   */
  offer(offers: readonly WorkOffer[], again?: 'again'): Promise<number>;
  /**
   * At most `most` offers, of each group in turn, the oldest of a group first; those of the groups in `last` only where
   * the others do not come to so many, and none of those in `never`. Each is another's again after `TAKEN_MS` unless it is
   * settled: see `tend`.
   */
  take(most: number, last?: ReadonlySet<string>, never?: ReadonlySet<string>): Promise<readonly TakenOffer[]>;
  /** Calls back when there may be offers to take. */
  onOffered(wake: () => void): () => void;
  /**
   * Whether the caller may run the fleet's recovery now. All machines together get one turn per `everyMs`.
   */
  turn(everyMs: number): Promise<boolean>;
  /**
   * Offers work again that was taken and neither settled nor failed in time. Returns what was quarantined.
   */
  tend(): Promise<readonly QuarantinedWork[]>;
  depth(): Promise<QueueDepth>;
  /** Quarantined work, newest first. */
  laidAside(limit: number): Promise<readonly QuarantinedWork[]>;
  /**
   * Quarantines streams without an attempt, until they are offered with `again`. Returns those that were
   * neither offered nor quarantined.
   */
  quarantine(offers: readonly WorkOffer[], why: WorkFailure): Promise<readonly QuarantinedWork[]>;
  /** Ends the quarantine of streams that are being worked on or have ended. */
  forget(streams: readonly Pick<WorkOffer, 'kind' | 'stream'>[]): Promise<void>;
  close(): Promise<void>;
}

/** The error code at the end of a reason, if there is one. */
export const codeIn = (why: string): string | undefined => /\[(\w+)\]$/.exec(why)?.[1];

/** Identifies a worker in `tried`. It changes with the worker's agents. */
export const workerId = ({ key, agents = '' }: { readonly key?: string; readonly agents?: string }): string =>
  `${key ?? ''}.${agents}`;

/** A taken offer is settled within milliseconds unless its worker has died. */
export const TAKEN_MS = 5_000;
/** Retries with pauses of 1 s, 2 s, 4 s and so on up to a minute, plus up to as much at random. */
export const RETRIES = 8;
export const LONGEST_PAUSE_MS = 60_000;
/**
 * Quarantined work is tried again after this time, because another worker may have joined or the cause may be
 * fixed.
 */
export const ASIDE_MS = 900_000;
/** Offers per call. */
export const MAX_OFFERS = 1_000;

/**
 * How many workers in a row may die with a stream that makes no progress. After that it is quarantined until
 * somebody resumes it.
 */
export const MAX_WORKER_LOSSES = 5;

export const offerKey = ({ kind, stream }: Pick<WorkOffer, 'kind' | 'stream'>): string => `${kind}/${stream}`;

/** The failure of an offer whose worker died or took too long. */
export const NOT_SETTLED: WorkFailure = {
  code: 'offer_expired',
  message: 'A worker took it and neither began nor gave it back: it has died, or its machine is too busy.',
};

/** The failure of a stream whose workers die. */
export const DEADLY: WorkFailure = {
  code: 'workers_lost',
  message: `Its last ${MAX_WORKER_LOSSES} workers died while they worked on it, and it got nowhere: it may take more memory than they have.`,
};

/** The engine of one of many processes that share a store. */
export interface FleetEngine extends Engine {
  /** Starts to take offers of the fleet and to take part in recovery. */
  start(): void;
  /**
   * Starts nothing new, except what current work calls or what this process owns. Resolves once no start is
   * pending. Current work continues until it is released, and other processes take it over.
   */
  drain(): Promise<void>;
  load(): FleetLoad;
  /** How often work failed in this process and was offered again. */
  retries(): number;
  /** Offers quarantined streams again that this process has not tried with its current agents. */
  reconsider(): Promise<void>;
  /**
   * Where new work would run: in this process (`here`), in the first process with room (`queue`), or so late
   * that the caller should retry later (`full`). `now`: the caller waits for the start, so `queue` requires a
   * free place in another process.
   */
  admit(how?: 'now'): Promise<Admission>;
  depth(): Promise<QueueDepth>;
}

export type Admission = 'here' | 'queue' | 'full';

export interface FleetLoad {
  /** Streams that are or are about to be worked on, without those that they call. */
  readonly working: number;
  readonly capacity: number;
  readonly draining: boolean;
}

export interface FleetEngineOptions {
  readonly store: Pick<Store, 'send' | 'info'>;
  readonly shared: Pick<SharedStore, 'orphans' | 'onOrphans' | 'workers' | 'isAlive' | 'forgive'>;
  /** The queue, which stays open when the engine closes. */
  readonly queue: WorkQueue;
  readonly clock: Clock;
  /** From 0 up to 1. */
  readonly random: () => number;
  /**
   * How many streams this process works on at once. With 0 it only works on streams that it owns or waits
   * for.
   */
  readonly capacity: number;
  /** The places of this process, which its sessions use too. */
  readonly places?: WorkerCapacity | undefined;
  /** The key of this process in its `WorkerNote`. */
  readonly key?: string;
  /** A digest of its agents. */
  readonly agents?: () => string;
  /** Called with each failure after which a stream is offered again. */
  readonly onRetry?: (offer: WorkOffer, why: WorkFailure) => void;
  readonly onError: (thrown: unknown, about?: { readonly kind: StreamKind; readonly stream: string }) => void;
  /** Called when a stream is quarantined. */
  readonly onQuarantined?: (aside: QuarantinedWork) => void;
}
