/** What a parser finds wrong with a model's writing. Its message quotes nothing but what the model wrote. */
export const FAULT_CODES = [
  'no_body',
  'tag_too_long',
  'fence_left_open',
  'not_in_response',
  'not_here',
  'stray_close',
  'thought_left_open',
  'truncated',
  'bad_json',
  'body_too_large',
  'bad_action',
  'bad_attribute',
  'duplicate_id',
  'reserved_tag',
  'in_doubt',
  'unsealed',
] as const;

export type FaultCode = (typeof FAULT_CODES)[number];
