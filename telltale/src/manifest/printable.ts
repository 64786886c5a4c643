/**
 * Control characters, line and paragraph separators, direction marks, tags, fillers, the byte order mark, lone
 * surrogates. Not what emoji are joined with: `visibleText` spells that out, too, next to a decision.
 */
const UNPRINTABLE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: what combines is looked for by itself
  /[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]|\p{Surrogate}/gu;

/**
 * Text from a file or an environment as it may be written to a terminal: nothing in it moves the cursor, changes
 * colours or turns the direction of writing. Keeps the length in code units, so that offsets stay true.
 */
export const printable = (text: string): string =>
  text.replace(UNPRINTABLE, (character) =>
    character === '\t' || character === '\n' ? ' ' : '\ufffd'.repeat(character.length),
  );

const MAX_QUOTED = 60;

/** A value of the user's in a message: clipped, in double quotes, on one line. */
export const quoted = (text: string): string =>
  `"${printable(text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text)}"`;
