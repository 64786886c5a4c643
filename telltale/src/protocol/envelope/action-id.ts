import { MINUS, NINE, UNDERSCORE, ZERO } from '../prose/chars.ts';

/** A loop, since most ids are a few characters: nothing has to be entered and left, as for a regular expression. */
export function isId(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    const lower = c | 32;
    const isLetter = lower >= 97 && lower <= 122;
    if (!isLetter && !(c >= ZERO && c <= NINE) && c !== UNDERSCORE && c !== MINUS) return false;
  }
  return text !== '';
}

export const ID_FORM = 'letters, digits, "_" and "-"';
