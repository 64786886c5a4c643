/** Characters of a message or a summary that are repeated; of more, the head and the tail. */
export const MAX_SHOWN = 8 * 1024;
/** All results of one block share the room of this many of the largest: each gets an equal part of what is left. */
export const RESULTS_AT_ONCE = 4;
/** No result is cut below this as long as there is room at all, unless the manifest leaves less. */
export const MIN_SHOWN = 512;
/** Characters of a target's name or of an id in a line of the runtime's own. */
export const MAX_NAME_SHOWN = 120;
export const MAX_IDS_LISTED = 64;
export const MAX_FAULTS_SHOWN = 20;
export const MAX_REJECTED_SHOWN = 20;
/** Of each current value beside what was rejected. */
export const MAX_CURRENT_SHOWN = 300;
/** Characters of one message of error. */
export const MAX_ERROR_SHOWN = 1000;
/** Characters of a variable's value, as JSON. */
export const MAX_VARIABLE_SHOWN = 2000;
/** Characters of a summary that stands for old turns. */
export const MAX_SUMMARY = 16 * 1024;

/** Ends of workflows that one turn is told of. */
export const MAX_WORKFLOWS_SHOWN = 20;
