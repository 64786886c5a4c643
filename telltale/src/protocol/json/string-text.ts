import { BACKSLASH } from '../prose/chars.ts';
import { ESCAPES, HEX } from './tolerant-json.ts';

/** A JSON string that is decoded as it comes. */
export interface StringText {
  /** The character code of the quote that ends it. */
  quote: number;
  /** The part of an escape that has come. */
  escape: string;
  /** The first half of a surrogate pair, whose second half may come. */
  half: string;
  /** What the last call decoded. */
  decoded: string;
}

export const createStringText = (): StringText => ({ quote: 0, escape: '', half: '', decoded: '' });

/** How many hexadecimal digits follow. */
const DIGITS: Readonly<Record<string, number>> = { u: 4, x: 2 };

export function startString(text: StringText, quote: number): void {
  text.quote = quote;
  text.escape = '';
  text.half = '';
}

/**
 * Decodes from `from` on, up to the quote that ends the string or to the end of the chunk, and returns where that is.
 * Raw line breaks count as what they are; what is no escape of JSON is read as in a body (tolerant-json.ts).
 */
export function decodeString(text: StringText, chunk: string, from: number): number {
  let out = text.half;
  let at = from;
  for (; at < chunk.length; at++) {
    if (text.escape !== '') {
      const c = chunk.charAt(at);
      if (goesOnWith(text.escape, c)) {
        out += goOnWithEscape(text, c);
        continue;
      }
      // No escape after all: what came of it is text, and this character may end the string.
      out += text.escape;
      text.escape = '';
    }
    let end = at;
    while (end < chunk.length) {
      const c = chunk.charCodeAt(end);
      if (c === text.quote || c === BACKSLASH) break;
      end++;
    }
    out += chunk.slice(at, end);
    at = end;
    if (at >= chunk.length || chunk.charCodeAt(at) === text.quote) break;
    text.escape = '\\';
  }
  const isOver = at < chunk.length;
  const last = out.charCodeAt(out.length - 1);
  const isHalf = !isOver && last >= 0xd800 && last <= 0xdbff;
  text.half = isHalf ? out.slice(-1) : '';
  text.decoded = isHalf ? out.slice(0, -1) : out;
  return at;
}

function goesOnWith(begun: string, c: string): boolean {
  return begun.length === 1 || HEX.test(c);
}

/** What an escape comes to with its next character; nothing while it goes on. */
function goOnWithEscape(text: StringText, c: string): string {
  const whole = text.escape + c;
  const digits = DIGITS[whole.charAt(1)] ?? 0;
  text.escape = digits > 0 && whole.length < digits + 2 ? whole : '';
  if (text.escape !== '') return '';
  return digits > 0 ? String.fromCharCode(Number.parseInt(whole.slice(2), 16)) : (ESCAPES[c] ?? whole);
}
