import type { StreamKind, Work } from '../engine/engine.ts';
import type { WorkerRow } from '../store/shared-store.ts';
import type { Admission, FleetLoad, QuarantinedWork, QueueDepth } from './work-queue.ts';

export interface FleetStatus {
  readonly fleet: string;
  /** Live workers first, then those that died recently, each in order of arrival. */
  readonly workers: readonly WorkerRow[];
  readonly queue: QueueDepth;
  /** Quarantined streams that no worker could continue, and why. */
  readonly laidAside: readonly QuarantinedWork[];
}

export { codeIn, type QuarantinedWork } from './work-queue.ts';

/** The fleet of a runtime: all processes that work on its store. */
export interface Fleet {
  /** Its name in the database. */
  readonly name: string;
  /**
   * Starts to work on sessions that wait for a worker. `work` resolves once the session was released. Call it
   * once.
   */
  workOnSessions(work: Work): void;
  /**
   * Where something new would be worked on; `full` where it had better be asked for again. `now`: it is not to wait in the
   * queue where no process of the fleet has a place free.
   */
  admit(how?: 'now'): Promise<Admission>;
  status(): Promise<FleetStatus>;
  /** The load of this process. */
  figures(): FleetLoad & { readonly retries: number };
  /** Ends the quarantine of a stream that is being worked on again. */
  forget(kind: StreamKind, stream: string): void;
  /** Lets any worker try a quarantined stream again. */
  retry(stream: string): Promise<void>;
  /** Publishes the HTTP address of this process. */
  answersAt(url: string): void;
  /** Takes no more work. Current work is released when the runtime closes. */
  drain(): Promise<void>;
}

/** An agent that a process has loaded, known by the hash of its manifest. */
export interface KnownAgent {
  readonly hash: string;
}

/** A process as a member of a fleet. */
export interface FleetMember {
  /** How it was started: `serve`, `worker`. */
  readonly role: string;
  readonly host: string;
  readonly version: string;
  /** How many sessions and runs it works on at once. With 0 it only works on its own. */
  readonly capacity: number;
  /** The agents that it has loaded. Runs of an agent with the same hash can continue here, wherever the manifest is stored on this machine. */
  readonly agents?: () => readonly KnownAgent[];
}
