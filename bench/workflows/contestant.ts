/** Something that runs workflows of some steps, each step on disk before the next begins. */
export interface WorkflowContestant {
  open(options: ContestOptions): Promise<OpenContest>;
}

export interface ContestOptions {
  readonly steps: number;
  /** Workflows at once. */
  readonly atOnce: number;
  /** A folder of its own. */
  readonly folder: string;
  /** Of a database of its own. */
  readonly postgres?: string;
  readonly restate?: { readonly ingress: string; readonly admin: string };
}

export interface OpenContest {
  /** Runs one workflow to its end. */
  run(n: number): Promise<void>;
  /** Runs one, and gives the milliseconds from asking for it to the begin of its first step. */
  start?(n: number): Promise<number>;
  /** How often a step's own code was run. */
  ran(): number;
  close(): Promise<void>;
}

export interface ContestFigures {
  /** Steps a second, of each round. */
  readonly perSecond: readonly number[];
  /** Of CPU time a step, of each round; what a server beside it uses is not in it. */
  readonly cpuUs: readonly number[];
  readonly startMs: readonly number[];
  /** Steps that should have run, and how many did. */
  readonly expected: number;
  readonly ran: number;
}
