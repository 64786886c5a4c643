import type { StreamKind, Work } from '../engine/engine.ts';
import type { WorkerRow } from '../store/shared-store.ts';
import type { Admission, FleetLoad, QuarantinedWork, QueueDepth } from './work-queue.ts';

export interface FleetStatus {
  readonly fleet: string;
  /** The living first, then those that died of late, each by when it came. */
  readonly workers: readonly WorkerRow[];
  readonly queue: QueueDepth;
  /** Streams that no worker could go on with, and why. */
  readonly laidAside: readonly QuarantinedWork[];
}

export { codeIn, type QuarantinedWork } from './work-queue.ts';

/** The fleet that a runtime belongs to: all processes that have its store open for work. */
export interface Fleet {
  /** What the database says that it belongs to. */
  readonly name: string;
  /** Takes up sessions that wait for a worker. `work` resolves once the session was let go of. Once, at the beginning. */
  workOnSessions(work: Work): void;
  /**
   * Where something new would be worked on; `full` where it had better be asked for again. `now`: it is not to wait in the
   * queue where no process of the fleet has a place free.
   */
  admit(how?: 'now'): Promise<Admission>;
  status(): Promise<FleetStatus>;
  /** Of this process. */
  figures(): FleetLoad & { readonly retries: number };
  /** A stream is quarantined no more: somebody has got it going. */
  forget(kind: StreamKind, stream: string): void;
  /** Has a stream that was laid aside tried again, by any worker. */
  retry(stream: string): Promise<void>;
  /** Says where this process answers HTTP. */
  answersAt(url: string): void;
  /** From here on nothing is taken up in this process any more. What it works on is let go of when the runtime closes. */
  drain(): Promise<void>;
}

/** An agent that a process has loaded, known by the hash of its manifest. */
export interface KnownAgent {
  readonly hash: string;
}

/** What a process is in a fleet. */
export interface FleetMember {
  /** What it was started as: `serve`, `worker`. */
  readonly role: string;
  readonly host: string;
  readonly version: string;
  /** Sessions and runs that it works on at once; 0 takes none but its own. */
  readonly capacity: number;
  /** The agents that it has loaded. Runs of an agent with the same hash can continue here, wherever the manifest is stored on this machine. */
  readonly agents?: () => readonly KnownAgent[];
}
