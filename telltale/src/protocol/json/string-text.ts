import { BACKSLASH } from '../prose/chars.ts';

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

const ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };
const UNICODE_ESCAPE = 6;

export function startString(text: StringText, quote: number): void {
  text.quote = quote;
  text.escape = '';
  text.half = '';
}

/**
 * Decodes from `from` on, up to the quote that ends the string or to the end of the chunk, and returns where that is.
 * Raw line breaks count as what they are, an escape that JSON does not know as the character behind the backslash.
 */
export function decodeString(text: StringText, chunk: string, from: number): number {
  let out = text.half;
  let at = from;
  for (; at < chunk.length; at++) {
    if (text.escape !== '') {
      out += goOnWithEscape(text, chunk.charAt(at));
      continue;
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

/** What an escape comes to with its next character; nothing while it goes on. */
function goOnWithEscape(text: StringText, c: string): string {
  if (text.escape === '\\' && c !== 'u') {
    text.escape = '';
    return ESCAPES[c] ?? c;
  }
  text.escape += c;
  if (text.escape.length < UNICODE_ESCAPE) return '';
  const hex = text.escape.slice(2);
  text.escape = '';
  return /^[0-9a-fA-F]{4}$/.test(hex) ? String.fromCharCode(Number.parseInt(hex, 16)) : hex;
}
