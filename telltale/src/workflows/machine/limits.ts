/** Times that steps are begun in one run, those of every round and state together. */
export const MAX_STEP_INSTANCES = 100_000;
/** Items of one `foreach`. */
export const MAX_FOREACH_ITEMS = 10_000;
/** Items of a `foreach` at a time where `max_parallel` is absent: a list from outside must not start thousands of calls. */
export const FOREACH_PARALLEL = 16;
/** Times that `goto` may lead to the same step of a list. */
export const MAX_GOTO_VISITS = 100;
/** Transitions of a run where `max_transitions` is absent. */
export const DEFAULT_MAX_TRANSITIONS = 100;
/** How long a step may take to stop once its signal is aborted; then it is left to itself. */
export const GRACE_MS = 10_000;
/** What is due this soon is waited for: letting go and walking again would cost more. */
export const HELD_WAIT_MS = 1_000;
/** The longest pause before a retry, where the first one is not longer. */
export const MAX_PAUSE_MS = 3_600_000;
