/**
 * Characters that change what a person reads without being seen: controls, direction marks, zero-width and other format
 * characters, line separators, fillers, variation selectors, tags and lone surrogates. Tabs, line breaks and blanks are
 * text.
 */
const INVISIBLE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: what combines is looked for by itself
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2028\u2029\u2800\u3164\ufe00-\ufe0f\uffa0\ufff9-\ufffc]|[\u{e0000}-\u{e0fff}]|[\u{1d173}-\u{1d17a}]|\p{Cf}|\p{Surrogate}/gu;

/** `\u{202E}`: nothing else in a text looks like it, and it can be searched for. */
const marked = (character: string): string =>
  `\\u{${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}}`;

/**
 * Text as it may stand next to a decision: what cannot be seen is spelled out, so that what is read is what is there.
 * The same for the console, the command line and notifications.
 */
export const visibleText = (text: string): string => text.replace(INVISIBLE, marked);

/** How many characters `visibleText` spells out, in these texts together. */
const countInvisible = (...texts: readonly string[]): number =>
  texts.reduce((sum, text) => sum + (text.match(INVISIBLE)?.length ?? 0), 0);

/** All keys and texts in a value, at any depth: where `invisibleWarning` looks. */
export function textsIn(value: unknown): readonly string[] {
  const texts: string[] = [];
  const open: unknown[] = [value];
  while (open.length > 0) {
    const each = open.pop();
    if (typeof each === 'string') texts.push(each);
    else if (typeof each === 'object' && each !== null)
      for (const [key, inner] of Object.entries(each)) {
        if (!Array.isArray(each)) texts.push(key);
        open.push(inner);
      }
  }
  return texts;
}

/** What a person is told beside such a text; undefined where everything in it can be seen. */
export function invisibleWarning(...texts: readonly string[]): string | undefined {
  const count = countInvisible(...texts);
  if (count === 0) return undefined;
  return `Contains ${count} invisible or direction-changing ${count === 1 ? 'character' : 'characters'}, shown as \\u{…}.`;
}
