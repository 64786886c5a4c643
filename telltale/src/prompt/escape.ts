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

/**
 * The `<` of a reserved tag, in lower case as the parser reads it: `Vec<Result>` in somebody's code stays as it is, so
 * that what is shown can be found again in the file. Also at the end of the text, since what is put after it could make
 * it one (`<if` is a tag from the next white space on).
 */
const RESERVED_TAG = new RegExp(`<(?=/?(?:${RESERVED_NAMES.join('|')})(?:[ \\t\\r\\n/>]|$))`, 'g');

const MASKED_KEY = '[key]';

/** Makes text from outside safe to stand in a prompt: it cannot speak the protocol. */
export type Escape = (text: string) => string;

/** `seal` is the session's key, which nobody but the runtime may put in front of the model. */
export function createEscape(seal?: string): Escape {
  if (seal === undefined || seal === '') return escapeReserved;
  return (text) => escapeReserved(text.includes(seal) ? text.replaceAll(seal, MASKED_KEY) : text);
}

function escapeReserved(text: string): string {
  return text.includes('<') ? text.replace(RESERVED_TAG, '&lt;') : text;
}

/** A value between double quotes in a tag of the runtime's own. */
export function escapeAttribute(value: string): string {
  return /[&<>"]/.test(value)
    ? value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
    : value;
}
