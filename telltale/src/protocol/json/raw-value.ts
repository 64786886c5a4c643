import {
  APOSTROPHE,
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  isSpace,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from '../prose/chars.ts';

/** The text of one JSON value, as it comes: only where it ends is looked for. */
export interface RawValue {
  text: string;
  complete: boolean;
  depth: number;
  /** The quote of the string that it is in, 0 outside; and whether a backslash came before. */
  quote: number;
  escaped: boolean;
}

export const createRawValue = (): RawValue => ({
  text: '',
  complete: false,
  depth: 0,
  quote: 0,
  escaped: false,
});

/** `first` is its opening quote or bracket; of a scalar, nothing. */
export function startRaw(value: RawValue, first: string, isString: boolean): void {
  value.text = first;
  value.complete = false;
  value.depth = isString ? 0 : 1;
  value.quote = isString ? first.charCodeAt(0) : 0;
  value.escaped = false;
}

/** Reads a string, an object or a list up to its end, and returns where that is. */
export function readRaw(value: RawValue, chunk: string, from: number): number {
  let at = from;
  for (; at < chunk.length; at++) {
    const c = chunk.charCodeAt(at);
    if (value.quote !== 0) {
      if (value.escaped) value.escaped = false;
      else if (c === BACKSLASH) value.escaped = true;
      else if (c === value.quote) value.quote = 0;
      else continue;
      if (value.quote !== 0 || value.depth > 0) continue;
    } else if (c === QUOTE || c === APOSTROPHE) {
      value.quote = c;
      continue;
    } else if (c === OPEN_BRACE || c === OPEN_BRACKET) {
      value.depth++;
      continue;
    } else if (c !== CLOSE_BRACE && c !== CLOSE_BRACKET) continue;
    else if (--value.depth > 0) continue;
    value.text += chunk.slice(from, at + 1);
    value.complete = true;
    return at + 1;
  }
  value.text += chunk.slice(from);
  return at;
}

/** Reads a scalar up to what ends it. */
export function readScalar(value: RawValue, chunk: string, from: number): number {
  let at = from;
  while (at < chunk.length && !endsScalar(chunk.charCodeAt(at))) at++;
  value.text += chunk.slice(from, at);
  return at;
}

const endsScalar = (c: number) => isSpace(c) || c === COMMA || c === CLOSE_BRACE || c === CLOSE_BRACKET;
