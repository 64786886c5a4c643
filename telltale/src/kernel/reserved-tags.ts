/** Every name of the protocol, in all its spellings: what text from outside may not say as a tag. */
export const RESERVED_NAMES = [
  'thought',
  'think',
  'thinking',
  'action',
  'metadata',
  'response',
  'if',
  'else',
  'foreach',
  'parallel',
  'result',
  'context_feed',
] as const;

/** What makes a `<` a reserved tag. At the end of a text, too: what is put after it could make it one. */
const TAG_NAME = `(?=/?(?:${RESERVED_NAMES.join('|')})(?:[ \\t\\r\\n/>]|$))`;

const RESERVED_TAG = new RegExp(`<${TAG_NAME}`, 'g');
const ESCAPED_TAG = new RegExp(`&lt;${TAG_NAME}`, 'g');

/**
 * Writes the `<` of reserved tags as `&lt;`. They are lower case, as the parser reads them: `Vec<Result>` in somebody's
 * code stays as it is.
 */
export function escapeReservedTags(text: string): string {
  return text.includes('<') ? text.replace(RESERVED_TAG, '&lt;') : text;
}

/** The opposite, for text that a model copied from where it was shown. */
export function unescapeReservedTags(text: string): string {
  return text.includes('&lt;') ? text.replace(ESCAPED_TAG, '<') : text;
}

/** Where a text has `&lt;` in front of a reserved tag's name. */
export const escapedTagsIn = (text: string): readonly number[] =>
  Array.from(text.matchAll(ESCAPED_TAG), ({ index }) => index);
