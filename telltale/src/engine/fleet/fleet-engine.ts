import type { Clock } from '../../kernel/clock.ts';
import type { SharedStore } from '../../store/shared-store.ts';
import type { Store } from '../../store/store.ts';
import type { Engine, StreamKind } from '../engine.ts';
import type { Places } from '../places.ts';
import type { LaidAside, QueueDepth, WhyNot, WorkOffer, WorkQueue } from './work-queue.ts';

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
  readonly places?: Places | undefined;
  /** What this process calls itself in its `WorkerNote`. */
  readonly key?: string;
  /** A digest of the agents that it has. */
  readonly agents?: () => string;
  /** Told of each failure after which a stream is offered again. */
  readonly onRetry?: (offer: WorkOffer, why: WhyNot) => void;
  readonly onError: (thrown: unknown, about?: { readonly kind: StreamKind; readonly stream: string }) => void;
  /** A stream was given up for now, since no process could work on it. */
  readonly onLaidAside?: (aside: LaidAside) => void;
}
