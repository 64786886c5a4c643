export interface AsleepOptions {
  readonly folder: string;
  readonly store: string;
  readonly runs: number;
  /** For how long it is watched while all sleep. */
  readonly seconds: number;
  /** `begun`: the process starts them. `found`: they are in the store. `ended`: it starts them, and they do not wait. */
  readonly from: 'begun' | 'found' | 'ended';
  /** As a member of the store's fleet. */
  readonly capacity?: number;
}

export interface AsleepFigures {
  /** Until all of them sleep. */
  readonly ms: number;
  readonly cpuMs: number;
  /** What they hold of the heap, after the garbage was collected; what the process holds of memory. */
  readonly heapMiB: number;
  readonly rssMiB: number;
  /** Of one core, while all sleep. */
  readonly cpuShare: number;
}

export interface NamedFigures extends AsleepFigures {
  readonly name: string;
  readonly from: AsleepOptions['from'];
}
