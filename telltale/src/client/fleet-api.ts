/** A process that works for a fleet. */
export interface WorkerInfo {
  readonly host: string;
  readonly pid: number;
  /** What it was started as: `serve`, `worker`. */
  readonly role: string;
  readonly version: string;
  /** Where it answers HTTP, if it does. */
  readonly url?: string;
  /** Sessions and runs that it works on at most. */
  readonly capacity: number;
  readonly working: number;
  /** The streams that it owns. */
  readonly holds: number;
  readonly startedAt: number;
  /** Since its last sign of life. */
  readonly quietMs: number;
  readonly alive: boolean;
  readonly draining?: true;
}

/** A session or run that no worker could go on with. */
export interface LaidAsideInfo {
  readonly kind: 'session' | 'run';
  readonly stream: string;
  readonly at: number;
  /** The code of the reason: `manifest_changed`. */
  readonly code?: string;
  readonly why: string;
}

/** The processes that share a store, and what waits for them. */
export interface FleetInfo {
  readonly fleet: string;
  readonly workers: readonly WorkerInfo[];
  readonly queue: {
    readonly waiting: number;
    readonly taken: number;
    readonly laidAside: number;
    /** For how long the oldest has been waiting. */
    readonly lagMs: number;
  };
  readonly laidAside: readonly LaidAsideInfo[];
}
