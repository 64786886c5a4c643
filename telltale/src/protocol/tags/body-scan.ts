import { BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, isSpace, LF, QUOTE, SLASH } from './chars.ts';
import { indexOfTag } from './index-of-mark.ts';
import { type BodyTag, mayBeginTag } from './tag-names.ts';
import { COMPLETE, createTagScan, PENDING, startTag, stepTag, type TagScan } from './tag-scan.ts';

/** The body goes on. */
export const READING = 0;
/** Its own closing tag has been read. */
const CLOSED = 1;
/** Its own closing tag ended a "string": a quote is missing. Go on after the tag. */
export const BROKEN_BY_CLOSE = 2;
/** Another tag stands where JSON cannot have one. Go on with `candidate`, then with what follows. */
export const BROKEN_BY_TAG = 3;
export type BodyState = 0 | 1 | 2 | 3;

// What the next character belongs to.
const JSON_TEXT = 0;
/** A possible tag; whether it stands in a string is asked only once it is one. */
const TAG = 1;
/** After an own closing tag in a string: nothing but white space so far on its line. */
const STRING_TAIL = 2;

// Where JSON stands at the end of what was scanned for quotes.
const OUTSIDE = 0;
const STRING = 1;
const ESCAPE = 2;

/**
 * Finds where a body ends. Most bodies are strict JSON without a tag in their strings, and of those only `<` is looked
 * for: at the own closing tag one JSON.parse tells that the tag stands outside strings. Where that fails, or another
 * tag shows up, what came so far is scanned for quotes, each character once.
 */
export interface BodyScan {
  state: BodyState;
  phase: number;
  tag: BodyTag;
  /** The text that was scanned for quotes, and what came after it. */
  scanned: string;
  unscanned: string;
  quotes: number;
  /** Characters between the tags so far, kept or not. */
  length: number;
  maxLength: number;
  tooLarge: boolean;
  /** What JSON.parse made of the body, if it could; and the length at which it last could not. */
  value: unknown;
  triedLength: number;
  /** A possible tag's text, which is not part of the body if it turns out to be one. */
  candidate: string;
  scan: TagScan;
}

export function createBodyScan(maxLength: number): BodyScan {
  return {
    state: READING,
    phase: JSON_TEXT,
    tag: 'action',
    scanned: '',
    unscanned: '',
    quotes: OUTSIDE,
    length: 0,
    maxLength,
    tooLarge: false,
    value: undefined,
    triedLength: 0,
    candidate: '',
    scan: createTagScan(),
  };
}

/** `before` is what stands between the opening tag and the `{`, which counts as part of the body. */
export function startBody(body: BodyScan, tag: BodyTag, before: string): void {
  body.state = READING;
  body.phase = JSON_TEXT;
  body.tag = tag;
  body.scanned = '';
  body.unscanned = '';
  body.quotes = OUTSIDE;
  body.length = 0;
  body.tooLarge = false;
  body.value = undefined;
  body.triedLength = 0;
  body.candidate = '';
  keep(body, before);
}

function keep(body: BodyScan, text: string): void {
  body.length += text.length;
  body.unscanned += text;
  if (body.length > body.maxLength) {
    scanQuotes(body);
    body.tooLarge = true;
    body.scanned = '';
  }
}

/** No possible tag is being read: `goesOn` may be asked. */
export function isBetweenTags(body: BodyScan): boolean {
  return body.phase === JSON_TEXT;
}

/** Most pushes: a piece of the body without a tag. False, and nothing done, where it has to be scanned. */
export function goesOn(body: BodyScan, chunk: string): boolean {
  const length = body.length + chunk.length;
  if (length > body.maxLength) return false;
  for (let i = indexOfTag(chunk, 0); i < chunk.length; i = indexOfTag(chunk, i + 1)) {
    if (mayBeginTag(chunk, i)) return false;
  }
  body.length = length;
  body.unscanned += chunk;
  return true;
}

/** Reads on from `from` and returns the index after the last character used; `state` says whether the body ended. */
export function scanBody(body: BodyScan, chunk: string, from: number): number {
  const end = chunk.length;
  let i = from;
  let start = i;
  while (i < end) {
    if (body.phase === JSON_TEXT) {
      i = indexOfTag(chunk, i);
      if (i < end && mayBeginTag(chunk, i)) {
        if (start < i) keep(body, chunk.slice(start, i));
        start = i;
        const closer = body.tag === 'action' ? '</action>' : '</metadata>';
        if (chunk.startsWith(closer, i)) {
          // Read at once: steps would cost several times as much.
          i += closer.length;
          const next = stepOwnClose(body);
          if (next === CLOSED) {
            body.state = CLOSED;
            return i;
          }
          if (next === IS_TAIL) body.phase = STRING_TAIL;
          continue;
        }
        if (mayClose(body.tag, chunk, i) || !isInString(body)) {
          startTag(body.scan);
          body.phase = TAG;
        }
      }
      i++;
      continue;
    }
    const c = chunk.charCodeAt(i);
    const next = body.phase === TAG ? stepCandidate(body, c) : stepTail(c);
    if (next === GOES_ON) i++;
    else if (next === IS_TAIL) {
      body.phase = STRING_TAIL;
      i++;
    } else if (next === IS_TEXT) {
      keep(body, body.candidate + chunk.slice(start, i));
      body.candidate = '';
      body.phase = JSON_TEXT;
      start = i;
    } else {
      // The line break after a tag that ended a "string" is not part of what was used.
      const used = next === BROKEN_BY_CLOSE ? i : i + 1;
      body.candidate += chunk.slice(start, used);
      body.state = next;
      return used;
    }
  }
  if (body.phase !== JSON_TEXT) body.candidate += chunk.slice(start);
  else if (start < end) keep(body, start === 0 ? chunk : chunk.slice(start));
  return end;
}

/** Whether the `<` at `at` may begin the own closing tag, the only one that matters in a string too. */
function mayClose(tag: BodyTag, chunk: string, at: number): boolean {
  if (at + 1 < chunk.length && chunk.charCodeAt(at + 1) !== SLASH) return false;
  return at + 2 >= chunk.length || chunk.charCodeAt(at + 2) === tag.charCodeAt(0);
}

function isInString(body: BodyScan): boolean {
  scanQuotes(body);
  return body.quotes !== OUTSIDE;
}

/** The body's text, from the opening tag's `>` on. */
export function bodyText(body: BodyScan): string {
  return body.scanned + body.unscanned;
}

/** What JSON.parse makes of a body that has ended; undefined where it is not strict JSON. */
export function strictValue(body: BodyScan): unknown {
  if (body.value === undefined && body.triedLength !== body.length) parse(body);
  return body.value;
}

/** At the end of the stream: whether an own closing tag in a "string" was the last thing on its line. */
export function endsInStringTail(body: BodyScan): boolean {
  return body.phase === STRING_TAIL;
}

const GOES_ON = 10;
const IS_TAIL = 11;
const IS_TEXT = 12;
type Step = typeof GOES_ON | typeof IS_TAIL | typeof IS_TEXT | Exclude<BodyState, 0>;

/** Up to the moment it is certainly a tag, a candidate holds no quote and no backslash: it can be text as well. */
function stepCandidate(body: BodyScan, c: number): Step {
  const { scan } = body;
  const verdict = stepTag(scan, c);
  const isTag = verdict === COMPLETE || (verdict === PENDING && scan.certain);
  if (!isTag) return verdict === PENDING ? GOES_ON : IS_TEXT;
  if (scan.closing && scan.name === body.tag) return stepOwnClose(body);
  return isInString(body) ? IS_TEXT : BROKEN_BY_TAG;
}

/** What the own closing tag means after what came so far. */
function stepOwnClose(body: BodyScan): typeof CLOSED | typeof IS_TAIL | typeof IS_TEXT {
  if (parses(body)) return CLOSED;
  if (!isInString(body)) return CLOSED;
  return body.quotes === STRING ? IS_TAIL : IS_TEXT;
}

function stepTail(c: number): Step {
  if (c === LF) return BROKEN_BY_CLOSE;
  return isSpace(c) ? GOES_ON : IS_TEXT;
}

/**
 * Whether all of the body so far is strict JSON: then the closing tag stands outside strings. Not tried where it looks
 * quoted (a JSON.parse that fails costs more than the scan it saves), nor again before the body has doubled, so that
 * the tries together stay linear.
 */
function parses(body: BodyScan): boolean {
  if (body.tooLarge || body.length < 2 * body.triedLength || !looksEnded(body.unscanned)) return false;
  parse(body);
  return body.value !== undefined;
}

/** The text ends in `}`, and the last thing before the closing brackets is no escaped quote. */
function looksEnded(text: string): boolean {
  let i = text.length - 1;
  while (i >= 0 && isSpace(text.charCodeAt(i))) i--;
  if (i < 0 || text.charCodeAt(i) !== CLOSE_BRACE) return false;
  for (let c = CLOSE_BRACE; c === CLOSE_BRACE || c === CLOSE_BRACKET || isSpace(c); c = text.charCodeAt(i)) {
    if (--i < 1) return true;
  }
  return !(text.charCodeAt(i) === QUOTE && text.charCodeAt(i - 1) === BACKSLASH);
}

function parse(body: BodyScan): void {
  body.triedLength = body.length;
  try {
    body.value = JSON.parse(bodyText(body));
  } catch {
    body.value = undefined;
  }
}

/** Goes from quote to quote; a quote in a string counts unless an odd number of backslashes stands before it. */
function scanQuotes(body: BodyScan): void {
  const text = body.unscanned;
  let { quotes } = body;
  let from = 0;
  if (quotes === ESCAPE && text !== '') {
    quotes = STRING;
    from = 1;
  }
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', from)) {
    if (quotes === OUTSIDE) quotes = STRING;
    else if (backslashesBefore(text, at, from) % 2 === 0) quotes = OUTSIDE;
    from = at + 1;
  }
  if (quotes === STRING && backslashesBefore(text, text.length, from) % 2 === 1) quotes = ESCAPE;
  body.quotes = quotes;
  if (!body.tooLarge) body.scanned += text;
  body.unscanned = '';
}

function backslashesBefore(text: string, at: number, from: number): number {
  let i = at;
  while (i > from && text.charCodeAt(i - 1) === BACKSLASH) i--;
  return at - i;
}
