/**
 * What a store has besides where several machines share it. All times are the database's own: a machine whose clock is
 * wrong neither loses what it holds nor takes what is not free.
 */
export interface SharedStore {
  /** What the database says it belongs to. */
  readonly fleet: string;
  /** What its tables, jobs and channels are named with. */
  readonly schema: string;
  /**
   * Streams that are to be worked on and that nobody alive owns, those that wait longest first: it is `running`, or the
   * time that it waits for has come, or it is alive and a message waits for it. A session that another stream called goes
   * on with that one: where that waits, it is the orphan. Whoever died with its owner is left out for a while from the
   * second time on, each time longer.
   */
  orphans(limit: number): Promise<readonly Orphan[]>;
  /** Calls `moved` when there may be orphans that were not there before: a stream was let go of, a message came. */
  onOrphans(moved: () => void): () => void;
  /** Forgets the deaths of a stream: it was let go of in peace, or is to have another chance. */
  forgive(stream: string): Promise<void>;
  /** Every process that has the store open for work, the dead ones too for a while. */
  workers(): Promise<readonly WorkerRow[]>;
  /** What others are to know of this process; written with its next sign of life, at once where it is the first. */
  present(about: WorkerNote): void;
  /** Whether this process still counts as alive: what it held is another's to take where it does not. */
  isAlive(): boolean;
  readonly slots: SharedSlots;
  readonly live: LiveWire;
  readonly database: SharedDatabase;
}

/** As its `StreamInfo` has it, which is not named here: a store knows of this file. */
export interface Orphan {
  readonly stream: string;
  readonly kind: 'session' | 'run';
  readonly name: string;
  readonly status: string;
  /** The session or run that it comes from, at the top: whose share of the workers it takes. */
  readonly root: string;
  /** Owners that died with it in a row, while it got nowhere. */
  readonly deaths: number;
}

/** What a process says of itself. */
export interface WorkerNote {
  /** `worker`, `serve`, `run`: what it was started as. */
  readonly role: string;
  readonly host: string;
  readonly version: string;
  /** Where it answers HTTP, if it does. */
  readonly url?: string;
  /** Streams that it works on at most; 0 for one that takes none from the fleet. */
  readonly capacity: number;
  readonly working: number;
  readonly draining?: true;
  /** Tells its note from those of others. Absent in processes of older versions. */
  readonly key?: string;
  /** A digest of the agents that it has. Absent in processes of older versions. */
  readonly agents?: string;
}

export interface WorkerRow extends WorkerNote {
  /** Of the database's own. */
  readonly id: number;
  readonly pid: number;
  /** The streams that it owns. */
  readonly holds: number;
  readonly startedAt: number;
  /** Since its last sign of life, by the database's clock. */
  readonly quietMs: number;
  readonly alive: boolean;
}

/** Counted permits, over all machines. One that its holder did not give back is free when the holder is dead. */
export interface SharedSlots {
  /** Whether there was room: then it is held until `free`. */
  take(key: string, max: number, holder: string): Promise<boolean>;
  free(key: string, holder: string): Promise<void>;
  /** Calls `moved` when one of a key may have become free. */
  onFree(key: string, moved: () => void): () => void;
}

/** Short messages between machines that nobody keeps: one may be lost, and none is repeated. */
export interface LiveWire {
  /** At most `MAX_LIVE_BYTES` of UTF-8; longer ones are refused. Nothing is sent where nobody listens. */
  send(channel: string, text: string): void;
  /** Whether anybody of another process listens to a channel. */
  isHeard(channel: string): boolean;
  /** Calls `heard` with what others send, and `gap` after messages may have been lost. */
  listen(channel: string, listener: { heard(text: string): void; gap(): void }): () => void;
}

/** Below the 8,000 bytes of a NOTIFY, with room for the channel's name. */
export const MAX_LIVE_BYTES = 7_000;

/** The database itself, for what lives beside the log in it. */
export interface SharedDatabase {
  execute(
    text: string,
    values?: readonly unknown[],
  ): Promise<{ readonly rows: readonly Record<string, unknown>[] }>;
  /** Listens to a NOTIFY channel; `again` is called after each new connection, since some may have been missed. */
  listen(
    channel: string,
    heard: (payload: string) => void,
    again: () => void,
  ): Promise<{ close(): Promise<void> }>;
}
