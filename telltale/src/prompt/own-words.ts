import type { FaultCode } from '../protocol/intents.ts';

/** The parser's faults quote nothing but what the model wrote; these of the runtime quote nothing at all. */
const OWN_WORDS = {
  no_body: true,
  tag_too_long: true,
  fence_left_open: true,
  not_in_response: true,
  not_here: true,
  stray_close: true,
  thought_left_open: true,
  truncated: true,
  bad_json: true,
  body_too_large: true,
  bad_action: true,
  bad_attribute: true,
  duplicate_id: true,
  reserved_tag: true,
  in_doubt: true,
  unsealed: true,
  no_tags: true,
  after_final: true,
} as const satisfies Record<FaultCode | 'no_tags' | 'after_final', true>;

/**
 * Whether a fault's message is the runtime's own words, whose tags must stay as they are: they teach how to write them.
 * Any other may quote what came from outside (a tool's error, a response with results in it).
 */
export const isOwnWords = (code: string): boolean => Object.hasOwn(OWN_WORDS, code);
