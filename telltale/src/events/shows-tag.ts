/** What is said of text that was read as text, in a turn that need not hold a tag. */
const OF_TEXT: ReadonlySet<string> = new Set([
  'no_tags',
  'foreign_call',
  'fence_left_open',
  'stray_close',
  'reserved_tag',
  'turn_too_long',
  'repeats',
]);

/** Whether a turn with this fault has held a tag, be it one of which nothing came. */
export const showsTag = (code: string): boolean => !OF_TEXT.has(code);
