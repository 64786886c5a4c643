/** What else is shown: `--debug`. */
export interface Debug {
  /** Each decision that an artifact is asked for; of a run, also what each took. */
  readonly invoke?: boolean;
}
