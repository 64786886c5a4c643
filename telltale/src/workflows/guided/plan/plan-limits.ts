/** A plan, and the one that may follow a failed one. */
export const MAX_PLANS = 2;
export const MAX_ACTIONS = 50;
/** Characters of a plan as JSON: it is written to the log, shown to people and sent to the model again. */
export const MAX_PLAN_CHARS = 100_000;
/** Nesting of a plan as JSON. */
export const MAX_PLAN_DEPTH = 40;
/** Characters of all results of a step, as JSON: they are written to the log once more when it completes. */
export const MAX_RESULTS_CHARS = 4 * 1024 * 1024;
/** Of what is wrong with a plan so many things are told. */
export const MAX_PROBLEMS = 10;
