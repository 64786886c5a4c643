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
import { beginComment, type CommentScan, createCommentScan, readComment } from './comment-scan.ts';

/** The text of one JSON value, as it comes: only where it ends is looked for. */
export interface RawValue {
  text: string;
  complete: boolean;
  depth: number;
  /** The quote of the string that it is in, 0 outside; and whether a backslash came before. */
  quote: number;
  escaped: boolean;
  readonly comment: CommentScan;
}

export const createRawValue = (): RawValue => ({
  text: '',
  complete: false,
  depth: 0,
  quote: 0,
  escaped: false,
  comment: createCommentScan(),
});

/** `first` is its opening quote or bracket; of a scalar, nothing. */
export function startRaw(value: RawValue, first: string, isString: boolean): void {
  value.text = first;
  value.complete = false;
  value.depth = isString ? 0 : 1;
  value.quote = isString ? first.charCodeAt(0) : 0;
  value.escaped = false;
  value.comment.isSpaced = false;
}

/** Reads a string, an object or a list up to its end, and returns where that is. What stands in a comment ends nothing. */
export function readRaw(value: RawValue, chunk: string, from: number): number {
  let at = from;
  for (; at < chunk.length; at++) {
    if (value.comment.state !== 'none') {
      at = readComment(value.comment, chunk, at) ?? at;
      if (at >= chunk.length) break;
    }
    const c = chunk.charCodeAt(at);
    if (value.quote !== 0) {
      if (value.escaped) value.escaped = false;
      else if (c === BACKSLASH) value.escaped = true;
      else if (c === value.quote) value.quote = 0;
      else continue;
      if (value.quote !== 0 || value.depth > 0) continue;
    } else if (beginComment(value.comment, c)) continue;
    else if (c === QUOTE || c === APOSTROPHE) {
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
