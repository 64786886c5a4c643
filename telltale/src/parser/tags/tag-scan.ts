import {
  APOSTROPHE,
  attributeCode,
  CLOSE_BRACKET,
  DEPENDS_ON,
  EQUALS,
  FINAL,
  GT,
  isControl,
  isSpace,
  LF,
  LT,
  nameAt,
  nextAttributeNode,
  nextNode,
  OPEN_BRACKET,
  QUOTE,
  ROOT,
  SLASH,
  type TagName,
} from './names.ts';

/** No tag is longer than this, `<` and `>` included. */
export const MAX_TAG = 4096;

/** Not decided yet; the character belongs to the possible tag. */
export const PENDING = 0;
/** Text. The character is not part of it and has to be looked at again. */
const NOT_A_TAG = 1;
/** The character was the tag's `>`. */
export const COMPLETE = 2;
/** It was a tag, but a `<` stands in it; the `<` has to be looked at again. */
export const BROKEN = 3;
/** MAX_TAG characters without a `>`; the character belongs to them. */
export const TOO_LONG = 4;
export type Verdict = 0 | 1 | 2 | 3 | 4;

// Where the next character stands; a scan begins `AFTER_LT`, 0.
const NAME = 1;
const AFTER_CLOSE_NAME = 2;
const BETWEEN = 3;
const ATTRIBUTE = 4;
const AFTER_ATTRIBUTE = 5;
const BEFORE_VALUE = 6;
const QUOTED = 7;
const AFTER_QUOTED = 8;
const UNQUOTED = 9;
const AFTER_SLASH = 10;
/** In `depends_on=[…]`, outside and inside the quotes of an id. */
const LIST = 11;
const LIST_STRING = 12;

export function stepTag(scan: TagScan, c: number): Verdict {
  if (scan.phase === NAME) {
    // Most steps; no name is near the longest tag.
    const node = nextNode(scan.node, c);
    if (node !== 0) {
      scan.node = node;
      scan.length++;
      return PENDING;
    }
  }
  const verdict = advance(scan, c);
  if (verdict !== PENDING) return verdict;
  scan.length++;
  return scan.length >= MAX_TAG ? TOO_LONG : PENDING;
}

function advance(scan: TagScan, c: number): Verdict {
  switch (scan.phase) {
    case AFTER_LT:
      scan.phase = NAME;
      if (c === SLASH) {
        scan.closing = true;
        return PENDING;
      }
      return readName(scan, c);
    case NAME:
      return readName(scan, c);
    case AFTER_CLOSE_NAME:
      return c === GT ? COMPLETE : isSpace(c) ? PENDING : NOT_A_TAG;
    case BETWEEN:
      return between(scan, c);
    case ATTRIBUTE:
      if (isNameChar(c)) {
        scan.attributeNode = nextAttributeNode(scan.attributeNode, c);
        return PENDING;
      }
      addSpan(scan, attributeCode(scan.attributeNode), scan.nameFrom, scan.length);
      scan.phase = AFTER_ATTRIBUTE;
      return afterAttribute(scan, c);
    case AFTER_ATTRIBUTE:
      return afterAttribute(scan, c);
    case BEFORE_VALUE:
      return beforeValue(scan, c);
    case QUOTED:
      if (c === scan.quote) {
        endValue(scan, scan.length);
        scan.phase = AFTER_QUOTED;
      }
      return PENDING;
    case AFTER_QUOTED:
      if (!isSpace(c) && c !== GT && c !== SLASH && c !== LT) scan.readable = false;
      return between(scan, c);
    case UNQUOTED:
      return unquoted(scan, c);
    case LIST:
    case LIST_STRING:
      return inList(scan, c);
    default: // AFTER_SLASH
      if (c === GT) {
        scan.selfClosing = true;
        return COMPLETE;
      }
      if (!scan.certain) return NOT_A_TAG;
      scan.readable = false;
      return between(scan, c);
  }
}

function readName(scan: TagScan, c: number): Verdict {
  const node = nextNode(scan.node, c);
  if (node !== 0) {
    scan.node = node;
    return PENDING;
  }
  const name = nameAt(scan.node);
  if (name === undefined || !(c === GT || isSpace(c) || (c === SLASH && !scan.closing))) return NOT_A_TAG;
  scan.name = name;
  if (scan.closing) {
    scan.phase = AFTER_CLOSE_NAME;
    return c === GT ? COMPLETE : PENDING;
  }
  scan.certain = isControl(name);
  return between(scan, c);
}

function between(scan: TagScan, c: number): Verdict {
  scan.phase = BETWEEN;
  if (isSpace(c)) return PENDING;
  if (c === GT) return COMPLETE;
  if (c === SLASH) {
    scan.phase = AFTER_SLASH;
    return PENDING;
  }
  if (c === LT) return scan.certain ? BROKEN : NOT_A_TAG;
  if (isNameStart(c)) {
    scan.phase = ATTRIBUTE;
    scan.nameFrom = scan.length;
    scan.attributeNode = nextAttributeNode(ROOT, c);
    return PENDING;
  }
  if (!scan.certain) return NOT_A_TAG;
  scan.readable = false;
  if (c === EQUALS) {
    // A value without a name: what is quoted after it is still quoted.
    addSpan(scan, attributeCode(0), scan.length, scan.length);
    scan.phase = BEFORE_VALUE;
  }
  return PENDING;
}

function afterAttribute(scan: TagScan, c: number): Verdict {
  if (isSpace(c)) return PENDING;
  if (c === EQUALS) {
    scan.certain = true;
    scan.phase = BEFORE_VALUE;
    return PENDING;
  }
  const bareFinal = scan.name === 'response' && scan.spans[scan.spanCount - SPAN] === FINAL;
  if (!bareFinal) {
    if (!scan.certain) return NOT_A_TAG;
    scan.readable = false;
    scan.spanCount -= SPAN;
  }
  return between(scan, c);
}

function beforeValue(scan: TagScan, c: number): Verdict {
  if (isSpace(c)) return PENDING;
  if (c === QUOTE || c === APOSTROPHE) {
    scan.quote = c;
    scan.phase = QUOTED;
    startValue(scan, scan.length + 1);
    return PENDING;
  }
  if (c === LT) return BROKEN;
  if (c === GT) {
    scan.readable = false;
    startValue(scan, scan.length);
    endValue(scan, scan.length);
    return COMPLETE;
  }
  const isList = c === OPEN_BRACKET && scan.spans[scan.spanCount - SPAN] === DEPENDS_ON;
  scan.phase = isList ? LIST : UNQUOTED;
  scan.slashBefore = c === SLASH;
  startValue(scan, scan.length);
  return PENDING;
}

/** A list ends with its line and with the tag, wherever in it they end. */
function inList(scan: TagScan, c: number): Verdict {
  if (c === LT) return BROKEN;
  if (c === GT || c === LF) {
    scan.readable = false;
    endValue(scan, scan.length);
    scan.phase = BETWEEN;
    return c === GT ? COMPLETE : PENDING;
  }
  if (c === QUOTE) scan.phase = scan.phase === LIST ? LIST_STRING : LIST;
  else if (c === CLOSE_BRACKET && scan.phase === LIST) {
    endValue(scan, scan.length + 1);
    scan.phase = AFTER_QUOTED;
  }
  return PENDING;
}

function unquoted(scan: TagScan, c: number): Verdict {
  if (c === GT || isSpace(c)) {
    scan.selfClosing = c === GT && scan.slashBefore;
    const to = scan.length - (scan.selfClosing ? 1 : 0);
    endValue(scan, to);
    if (to === scan.spans[scan.spanCount - 2]) scan.readable = false;
    scan.phase = BETWEEN;
    return c === GT ? COMPLETE : PENDING;
  }
  if (c === LT) return BROKEN;
  scan.slashBefore = c === SLASH;
  return PENDING;
}

function isNameStart(c: number): boolean {
  return (c >= 97 && c <= 122) || (c >= 65 && c <= 90) || c === 95;
}

/** Letters, digits, `_`, `-`, `.` and `:`. */
function isNameChar(c: number): boolean {
  return isNameStart(c) || (c >= 48 && c <= 58) || c === 45 || c === 46;
}

/** Just after the `<`, where every scan begins. */
const AFTER_LT = 0;

/** How many numbers a span has. */
export const SPAN = 5;

/** A possible tag, read one character at a time. Reused: `startTag` makes it new. */
export interface TagScan {
  phase: number;
  node: number;
  name: TagName | undefined;
  closing: boolean;
  /** It can no longer turn out to be prose: `>`, an `attribute=` or the name of a control tag has been seen. */
  certain: boolean;
  selfClosing: boolean;
  /** Every attribute could be read. */
  readable: boolean;
  quote: number;
  slashBefore: boolean;
  length: number;
  nameFrom: number;
  attributeNode: number;
  /**
   * Five numbers for each attribute: its code, then offsets into the tag: name from, name to, value from, value to
   * (-1 for a bare one). Only the first `spanCount` hold; the array is kept, for its room.
   */
  spans: number[];
  spanCount: number;
}

/** Of all that have read no attribute. Never added to. */
const NO_SPANS: number[] = [];

export function createTagScan(): TagScan {
  return {
    phase: AFTER_LT,
    node: ROOT,
    name: undefined,
    closing: false,
    certain: false,
    selfClosing: false,
    readable: true,
    quote: 0,
    slashBefore: false,
    length: 0,
    nameFrom: 0,
    attributeNode: 0,
    spans: NO_SPANS,
    spanCount: 0,
  };
}

/** What every reader begins a tag with: most lie whole in a chunk, and a scan for each session would be 190 bytes. */
let common = createTagScan();

export const commonScan = (): TagScan => common;

/** Its reader goes on with it at the next chunk: the others get another one. */
export function keepScan(scan: TagScan): void {
  if (scan === common) common = createTagScan();
}

/** Begins with a `<` just seen. */
export function startTag(scan: TagScan): void {
  scan.phase = AFTER_LT;
  scan.node = ROOT;
  scan.name = undefined;
  scan.closing = false;
  scan.certain = false;
  scan.selfClosing = false;
  scan.readable = true;
  scan.length = 1;
  scan.spanCount = 0;
}

export function addSpan(scan: TagScan, code: number, nameFrom: number, nameTo: number): void {
  const { spans, spanCount } = scan;
  scan.spanCount = spanCount + SPAN;
  if (spans.length === 0) {
    scan.spans = [code, nameFrom, nameTo, -1, -1]; // most tags have one: as a list that grows it would have room for three
    return;
  }
  spans[spanCount] = code;
  spans[spanCount + 1] = nameFrom;
  spans[spanCount + 2] = nameTo;
  spans[spanCount + 3] = -1;
  spans[spanCount + 4] = -1;
}

export function startValue(scan: TagScan, offset: number): void {
  scan.spans[scan.spanCount - 2] = offset;
}

export function endValue(scan: TagScan, offset: number): void {
  scan.spans[scan.spanCount - 1] = offset;
}
