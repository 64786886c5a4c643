import {
  APOSTROPHE,
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  isSpace,
  LF,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  SLASH,
  STAR,
} from '../tags/names.ts';
import { ESCAPES, HEX } from './tolerant-json.ts';

/** What a scan came upon. */
export type MemberScanFound =
  /** The chunk is read up to its end, and there is nothing to tell. */
  | 'nothing'
  /** A string member of `streamed` begins, goes on with `text`, or has ended. */
  | 'opened'
  | 'text'
  | 'closed'
  /** The member `key` is complete: `value`. */
  | 'value'
  /** An item of the list `key` is complete: `value`. */
  | 'item'
  /** From here on it cannot be read. Told once. */
  | 'bad';

/**
 * Reads the members of one JSON object as its text comes: strings in `streamed` piece by piece, lists in `listed` item by
 * item, all others when they are complete. Linear, however the text is cut, and without recursion. Forgives comments,
 * trailing commas, single quotes, raw line breaks in strings, brackets that are missing at the end, and a Markdown fence
 * around it all.
 */
export interface MemberScan {
  readonly streamed: ReadonlySet<string>;
  readonly listed: ReadonlySet<string>;
  state: MemberScanState;
  key: string;
  text: string;
  /** Of `value` and `item`: its text. */
  readonly value: RawValue;
  /** The object has been closed. */
  done: boolean;
  /** Whether something was read that JSON does not allow. */
  repaired: boolean;
  inList: boolean;
  readonly string: StringText;
  readonly comment: CommentScan;
}

type MemberScanState =
  | 'start'
  | 'fence'
  | 'key'
  | 'name'
  | 'colon'
  | 'value'
  | 'string'
  | 'raw'
  | 'scalar'
  | 'after'
  | 'end';

/** The opening of a Markdown fence: its marks and at most one word. */
const FENCE = /^(?:`{3,}|~{3,})[ \t]*[^ \t\r\n{`~<]*\s*$/;
const MAX_FENCE = 64;

/** Longer keys are no keys of ours. */
const MAX_KEY = 256;

export const createMemberScan = (streamed: ReadonlySet<string>, listed: ReadonlySet<string>): MemberScan => ({
  streamed,
  listed,
  state: 'start',
  key: '',
  text: '',
  value: createRawValue(),
  done: false,
  repaired: false,
  inList: false,
  string: createStringText(),
  comment: createCommentScan(),
});

export interface Scanned {
  readonly found: MemberScanFound;
  /** Where reading goes on. */
  readonly to: number;
}

/** Reads from `from` on until there is something to tell. */
export function scanMembers(scan: MemberScan, chunk: string, from: number): Scanned {
  let at = from;
  while (at < chunk.length) {
    const c = chunk.charCodeAt(at);
    switch (scan.state) {
      case 'end':
        return { found: 'nothing', to: chunk.length };
      case 'name':
        at = readKey(scan, chunk, at);
        continue;
      case 'string':
        if (c === scan.string.quote && scan.string.escape === '') {
          scan.state = 'after';
          return { found: 'closed', to: at + 1 };
        }
        at = decodeString(scan.string, chunk, at);
        scan.text = scan.string.decoded;
        if (scan.text === '') continue;
        return { found: 'text', to: at };
      case 'raw':
        at = readRaw(scan.value, chunk, at);
        if (!scan.value.complete) continue;
        scan.state = 'after';
        return { found: scan.inList ? 'item' : 'value', to: at };
      case 'scalar':
        at = readScalar(scan.value, chunk, at);
        if (at >= chunk.length) continue;
        scan.state = 'after';
        return { found: scan.inList ? 'item' : 'value', to: at };
      case 'start':
      case 'fence':
      case 'key':
      case 'colon':
      case 'value':
      case 'after': {
        const { comment } = scan;
        if (comment.state !== 'none') {
          const to = readComment(comment, chunk, at);
          scan.repaired = true;
          if (to === undefined) {
            scan.state = 'end';
            return { found: 'bad', to: chunk.length };
          }
          at = to;
          continue;
        }
        if (scan.state !== 'fence' && (beginComment(comment, c) || isSpace(c))) {
          at++;
          continue;
        }
        const found = between(scan, chunk.charAt(at), c);
        if (found === 'bad') {
          scan.state = 'end';
          return { found, to: chunk.length };
        }
        // The first character of a scalar belongs to it.
        if ((scan.state as MemberScanState) !== 'scalar') at++;
        if (found !== 'nothing') return { found, to: at };
      }
    }
  }
  return { found: 'nothing', to: at };
}

/** One character that stands between keys and values. */
function between(scan: MemberScan, char: string, c: number): MemberScanFound {
  switch (scan.state) {
    case 'start':
      if (char === '`' || char === '~') {
        scan.state = 'fence';
        scan.key = char;
        return 'nothing';
      }
      scan.state = 'key';
      return char === '{' ? 'nothing' : 'bad';
    case 'fence':
      if (char !== '{') {
        scan.key += char;
        return scan.key.length > MAX_FENCE ? 'bad' : 'nothing';
      }
      scan.state = 'key';
      scan.repaired = true;
      return FENCE.test(scan.key) ? 'nothing' : 'bad';
    case 'key':
      if (char === '}') return closeObject(scan);
      if (char === ',') {
        scan.repaired = true;
        return 'nothing';
      }
      if (c !== QUOTE && c !== APOSTROPHE) return 'bad';
      startString(scan.string, c);
      scan.key = '';
      scan.state = 'name';
      return 'nothing';
    case 'colon':
      scan.state = 'value';
      return char === ':' ? 'nothing' : 'bad';
    case 'value':
      return beginValue(scan, char, c);
    case 'after':
      if (char === ',') scan.state = scan.inList ? 'value' : 'key';
      else if (char === ']' && scan.inList) scan.inList = false;
      else if (char === '}' && !scan.inList) return closeObject(scan);
      else return 'bad';
      return 'nothing';
    default:
      return 'bad';
  }
}

function beginValue(scan: MemberScan, char: string, c: number): MemberScanFound {
  const { key, inList, streamed, listed } = scan;
  if (inList && (char === ']' || char === ',')) {
    if (char === ']') {
      scan.inList = false;
      scan.state = 'after';
    } else scan.repaired = true;
    return 'nothing';
  }
  if (char === '[' && !inList && listed.has(key)) {
    scan.inList = true;
    return 'nothing';
  }
  const isString = c === QUOTE || c === APOSTROPHE;
  if (isString && !inList && streamed.has(key)) {
    startString(scan.string, c);
    scan.state = 'string';
    return 'opened';
  }
  if (isString || char === '{' || char === '[') {
    startRaw(scan.value, char, isString);
    scan.state = 'raw';
    return 'nothing';
  }
  if (char === '}' || char === ']' || char === ',' || char === ':') return 'bad';
  startRaw(scan.value, '', false);
  scan.state = 'scalar';
  return 'nothing';
}

function closeObject(scan: MemberScan): MemberScanFound {
  scan.state = 'end';
  scan.done = true;
  return 'nothing';
}

function readKey(scan: MemberScan, chunk: string, from: number): number {
  const { string } = scan;
  const at = decodeString(string, chunk, from);
  if (scan.key.length < MAX_KEY) scan.key += string.decoded;
  if (at < chunk.length) scan.state = 'colon';
  return at < chunk.length ? at + 1 : at;
}

/**
 * The text is over. What was begun may be complete but for its brackets, which are forgiven; `bad` where it broke off
 * inside a string or before a value.
 */
export function endMembers(scan: MemberScan): MemberScanFound {
  const { state } = scan;
  scan.state = 'end';
  if (state === 'end' || state === 'start') return 'nothing';
  scan.repaired = true;
  // A comment that nothing ends may have swallowed a part of the object.
  if (scan.comment.state !== 'none' || state === 'fence') return 'bad';
  const isCut =
    state === 'name' || state === 'colon' || state === 'string' || (state === 'value' && !scan.inList);
  if (isCut || (state === 'raw' && scan.value.quote !== 0)) return 'bad';
  scan.done = true;
  if (state !== 'raw' && state !== 'scalar') return 'nothing';
  return scan.inList ? 'item' : 'value';
}

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

const createStringText = (): StringText => ({ quote: 0, escape: '', half: '', decoded: '' });

/** How many hexadecimal digits follow. */
const DIGITS: Readonly<Record<string, number>> = { u: 4, x: 2 };

function startString(text: StringText, quote: number): void {
  text.quote = quote;
  text.escape = '';
  text.half = '';
}

/**
 * Decodes from `from` on, up to the quote that ends the string or to the end of the chunk, and returns where that is.
 * Raw line breaks count as what they are; what is no escape of JSON is read as in a body (tolerant-json.ts).
 */
function decodeString(text: StringText, chunk: string, from: number): number {
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

const createRawValue = (): RawValue => ({
  text: '',
  complete: false,
  depth: 0,
  quote: 0,
  escaped: false,
  comment: createCommentScan(),
});

/** `first` is its opening quote or bracket; of a scalar, nothing. */
function startRaw(value: RawValue, first: string, isString: boolean): void {
  value.text = first;
  value.complete = false;
  value.depth = isString ? 0 : 1;
  value.quote = isString ? first.charCodeAt(0) : 0;
  value.escaped = false;
  value.comment.isSpaced = false;
}

/** Reads a string, an object or a list up to its end, and returns where that is. What stands in a comment ends nothing. */
function readRaw(value: RawValue, chunk: string, from: number): number {
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
function readScalar(value: RawValue, chunk: string, from: number): number {
  let at = from;
  while (at < chunk.length && !endsScalar(chunk.charCodeAt(at))) at++;
  value.text += chunk.slice(from, at);
  return at;
}

const endsScalar = (c: number) => isSpace(c) || c === COMMA || c === CLOSE_BRACE || c === CLOSE_BRACKET;

const HASH = 35;

/** Where the text of almost-JSON stands in a comment, whose pieces come one after the other. */
export interface CommentScan {
  /** `slash`: one was read that may begin a comment. `star`: one was read that may end a block. */
  state: 'none' | 'slash' | 'line' | 'block' | 'star';
  /** Whether white space came before: only then is `#` a comment. */
  isSpaced: boolean;
}

const createCommentScan = (): CommentScan => ({ state: 'none', isSpaced: true });

/** Whether `c`, outside of strings, may begin a comment; it belongs to it then. */
function beginComment(comment: CommentScan, c: number): boolean {
  if (c === SLASH) comment.state = 'slash';
  else if (c === HASH && comment.isSpaced) comment.state = 'line';
  comment.isSpaced = isSpace(c);
  return comment.state !== 'none';
}

/** Reads on in a comment, and returns where that ends; undefined where a slash began none. */
function readComment(comment: CommentScan, chunk: string, from: number): number | undefined {
  for (let at = from; at < chunk.length; at++) {
    const c = chunk.charCodeAt(at);
    if (comment.state === 'slash') {
      if (c !== SLASH && c !== STAR) {
        comment.state = 'none';
        return undefined;
      }
      comment.state = c === SLASH ? 'line' : 'block';
    } else if (comment.state === 'line' ? c === LF : comment.state === 'star' && c === SLASH) {
      comment.state = 'none';
      comment.isSpaced = true;
      return at + 1;
    } else if (comment.state !== 'line') comment.state = c === STAR ? 'star' : 'block';
  }
  return chunk.length;
}
