/** Something that runs workflows of several steps, with each step on disk before the next begins. */
export interface WorkflowContestant {
  open(options: ContestOptions): Promise<OpenContest>;
}

export interface ContestOptions {
  readonly steps: number;
  /** Workflows at once. */
  readonly atOnce: number;
  /** Its own empty folder. */
  readonly folder: string;
  /** The URL of its own database. */
  readonly postgres?: string;
  readonly restate?: { readonly ingress: string; readonly admin: string };
}

export interface OpenContest {
  /** Runs one workflow to its end. */
  run(n: number): Promise<void>;
  /** How often the steps' own code ran. */
  ran(): number;
  close(): Promise<void>;
}

export interface ContestFigures {
  /** Steps per second, one for each round. */
  readonly perSecond: readonly number[];
  /** Steps that should have run, and steps that did. */
  readonly expected: number;
  readonly ran: number;
}
