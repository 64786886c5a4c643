/** Control characters, line and paragraph separators, direction marks, the byte order mark, lone surrogates. */
const UNPRINTABLE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]|\p{Surrogate}/gu;

/**
 * Text from a file or an environment as it may be written to a terminal: nothing in it moves the cursor, changes
 * colours or turns the direction of writing. Keeps the length in code units, so that offsets stay true.
 */
export const printable = (text: string): string =>
  text.replace(UNPRINTABLE, (character) => (character === '\t' || character === '\n' ? ' ' : '\ufffd'));

const MAX_QUOTED = 60;

/** A value of the user's in a message: clipped, in double quotes, on one line. */
export const quoted = (text: string): string =>
  `"${printable(text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text)}"`;
