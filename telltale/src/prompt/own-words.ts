import { FAULT_CODES } from '../protocol/fault-codes.ts';

/** The fault of a turn that its provider's output limit ended. It says all that the parser's `truncated` would. */
export const OUTPUT_LIMIT = 'output_limit';

/** The faults of turns that the runtime cut off: for what they repeated, and for their length. */
export const REPEATS = 'repeats';
export const TURN_TOO_LONG = 'turn_too_long';

/**
 * The parser's faults quote nothing but what the model wrote. These of the runtime quote nothing, or escape what they do.
 */
const OWN_WORDS: ReadonlySet<string> = new Set([
  ...FAULT_CODES,
  'no_tags',
  'after_final',
  'foreign_call',
  OUTPUT_LIMIT,
]);

/**
 * Whether a fault's message is the runtime's own words, whose tags must stay as they are: they teach how to write them.
 * Any other may quote what came from outside (a tool's error, a response with results in it).
 */
export const isOwnWords = (code: string): boolean => OWN_WORDS.has(code);
