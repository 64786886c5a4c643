import { BACKSLASH, CLOSE_BRACE, isSpace, LF, LT, OPEN_BRACE, QUOTE, SLASH } from './chars.ts';
import type { BodyTag } from './tag-names.ts';
import { COMPLETE, createTagScan, PENDING, startTag, stepTag, type TagScan } from './tag-scan.ts';

/** The body goes on. */
export const READING = 0;
/** Its own closing tag has been read. */
export const CLOSED = 1;
/** Its own closing tag ended a "string": a quote is missing. Go on after the tag. */
export const BROKEN_BY_CLOSE = 2;
/** Another tag stands where JSON cannot have one. Go on with `candidate`, then with what follows. */
export const BROKEN_BY_TAG = 3;
export type BodyState = 0 | 1 | 2 | 3;

const JSON_TEXT = 0;
const STRING = 1;
const ESCAPE = 2;
/** In a possible tag outside a string. */
const TAG = 3;
/** In a possible own closing tag inside a string. */
const STRING_TAG = 4;
/** After such a tag: nothing but white space so far on its line. */
const STRING_TAIL = 5;

/** Finds where a body ends. Looks at each character once; keeps the raw text for one JSON.parse at the close. */
export interface BodyScan {
  state: BodyState;
  phase: number;
  tag: BodyTag;
  raw: string;
  /** Characters between the tags so far, kept or not. */
  length: number;
  maxLength: number;
  tooLarge: boolean;
  /** How deep brackets outside strings are nested, now and at the most. Exact where the body is strict JSON. */
  depth: number;
  deepest: number;
  /** A possible tag's text, which is not part of the body if it turns out to be one. */
  candidate: string;
  scan: TagScan;
}

export function createBodyScan(maxLength: number): BodyScan {
  return {
    state: READING,
    phase: JSON_TEXT,
    tag: 'action',
    raw: '',
    length: 0,
    maxLength,
    tooLarge: false,
    depth: 0,
    deepest: 0,
    candidate: '',
    scan: createTagScan(),
  };
}

/** `before` is what stands between the opening tag and the `{`, which counts as part of the body. */
export function startBody(body: BodyScan, tag: BodyTag, before: string): void {
  body.state = READING;
  body.phase = JSON_TEXT;
  body.tag = tag;
  body.raw = '';
  body.length = 0;
  body.tooLarge = false;
  body.depth = 0;
  body.deepest = 0;
  body.candidate = '';
  keep(body, before);
}

function keep(body: BodyScan, text: string): void {
  body.length += text.length;
  if (body.length > body.maxLength) {
    body.tooLarge = true;
    body.raw = '';
  } else body.raw += text;
}

/** Reads on from `from` and returns the index after the last character used; `state` says whether the body ended. */
export function scanBody(body: BodyScan, chunk: string, from: number): number {
  const end = chunk.length;
  let i = from;
  let start = i;
  let phase = body.phase;
  while (i < end) {
    let c = chunk.charCodeAt(i);
    if (phase === STRING) {
      while (c !== QUOTE) {
        // What a backslash escapes is passed over; if it is in the next chunk, i ends up behind this one.
        if (c === BACKSLASH) i++;
        else if (c === LT && mayClose(body.tag, chunk, i)) break;
        if (++i >= end) break;
        c = chunk.charCodeAt(i);
      }
      if (i < end) {
        phase = c === QUOTE ? JSON_TEXT : STRING_TAG;
        if (phase === STRING_TAG) {
          keepAndStartTag(body, chunk, start, i);
          start = i;
        }
        i++;
      } else if (i > end) {
        phase = ESCAPE;
        i = end;
      }
    } else if (phase === JSON_TEXT) {
      while (c !== QUOTE && c !== LT) {
        const bracket = c | 32;
        if (bracket === OPEN_BRACE) {
          if (++body.depth > body.deepest) body.deepest = body.depth;
        } else if (bracket === CLOSE_BRACE) body.depth--;
        if (++i >= end) break;
        c = chunk.charCodeAt(i);
      }
      if (i < end) {
        phase = c === QUOTE ? STRING : TAG;
        if (phase === TAG) {
          keepAndStartTag(body, chunk, start, i);
          start = i;
        }
        i++;
      }
    } else if (phase === ESCAPE) {
      phase = STRING;
      i++;
    } else {
      const next =
        phase === STRING_TAIL ? stepTail(c) : phase === TAG ? stepOutside(body, c) : stepInside(body, c);
      if (next === GOES_ON) i++;
      else if (next === IS_TAIL) {
        phase = STRING_TAIL;
        i++;
      } else if (next === IS_TEXT) {
        keep(body, body.candidate + chunk.slice(start, i));
        body.candidate = '';
        start = i;
        phase = phase === TAG ? JSON_TEXT : STRING;
      } else {
        // The line break after a tag that ended a "string" is not part of what was used.
        const used = next === BROKEN_BY_CLOSE ? i : i + 1;
        body.candidate += chunk.slice(start, used);
        body.state = next;
        return used;
      }
    }
  }
  if (phase >= TAG) body.candidate += chunk.slice(start);
  else if (start < end) keep(body, start === 0 ? chunk : chunk.slice(start));
  body.phase = phase;
  return end;
}

/** Most `<` in strings are code: what cannot be the own closing tag is not worth a scan. */
function mayClose(tag: BodyTag, chunk: string, at: number): boolean {
  if (at + 1 < chunk.length && chunk.charCodeAt(at + 1) !== SLASH) return false;
  return at + 2 >= chunk.length || chunk.charCodeAt(at + 2) === tag.charCodeAt(0);
}

/** At the end of the stream: whether an own closing tag in a "string" was the last thing on its line. */
export function endsInStringTail(body: BodyScan): boolean {
  return body.phase === STRING_TAIL;
}

const GOES_ON = 10;
const IS_TAIL = 11;
const IS_TEXT = 12;
type Step = typeof GOES_ON | typeof IS_TAIL | typeof IS_TEXT | Exclude<BodyState, 0>;

function keepAndStartTag(body: BodyScan, chunk: string, from: number, to: number): void {
  if (from < to) keep(body, chunk.slice(from, to));
  startTag(body.scan);
}

function stepOutside(body: BodyScan, c: number): Step {
  const { scan } = body;
  const verdict = stepTag(scan, c);
  if (verdict === COMPLETE) return scan.closing && scan.name === body.tag ? CLOSED : BROKEN_BY_TAG;
  if (verdict === PENDING) return scan.certain ? BROKEN_BY_TAG : GOES_ON;
  return IS_TEXT;
}

function stepInside(body: BodyScan, c: number): Step {
  const { scan } = body;
  const verdict = stepTag(scan, c);
  if (verdict === COMPLETE) return scan.name === body.tag ? IS_TAIL : IS_TEXT;
  return verdict === PENDING && scan.closing ? GOES_ON : IS_TEXT;
}

function stepTail(c: number): Step {
  if (c === LF) return BROKEN_BY_CLOSE;
  return isSpace(c) ? GOES_ON : IS_TEXT;
}
