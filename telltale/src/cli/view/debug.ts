/** What `--debug` shows in addition. */
export interface Debug {
  /** Each call of an artifact. For a run, also the cost of each decision. */
  readonly invoke?: boolean;
}
