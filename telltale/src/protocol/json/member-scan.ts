import { APOSTROPHE, isSpace, QUOTE } from '../prose/chars.ts';
import { beginComment, type CommentScan, createCommentScan, readComment } from './comment-scan.ts';
import { createRawValue, type RawValue, readRaw, readScalar, startRaw } from './raw-value.ts';
import { createStringText, decodeString, type StringText, startString } from './string-text.ts';

/** What a scan came upon. */
export type Found =
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
  state: State;
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

type State =
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
  readonly found: Found;
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
        if ((scan.state as State) !== 'scalar') at++;
        if (found !== 'nothing') return { found, to: at };
      }
    }
  }
  return { found: 'nothing', to: at };
}

/** One character that stands between keys and values. */
function between(scan: MemberScan, char: string, c: number): Found {
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

function beginValue(scan: MemberScan, char: string, c: number): Found {
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

function closeObject(scan: MemberScan): Found {
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
export function endMembers(scan: MemberScan): Found {
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
