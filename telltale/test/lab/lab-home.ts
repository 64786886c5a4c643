import type { Fault, FaultKind, HomeKind } from './plan-faults.ts';

/** Where the store of a round is, and what can happen to it there. */
export interface LabHome {
  readonly kind: HomeKind;
  /** The store as a worker reaches it. */
  urlFor(worker: number): string;
  /** As nothing can happen to it. */
  readonly direct: string;
  /** How long a silent worker counts as alive; 0 where its process is looked at. */
  readonly leaseMs: number;
  /** What cannot be had here. */
  readonly without: readonly FaultKind[];
  /** Has a fault come over the store or the way there; resolves once it is lifted. */
  harm(fault: Fault): Promise<void>;
  /** What is left of it goes to the folder where `keep`. */
  close(keep: boolean): Promise<void>;
}

export const sleepMs = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
