import {
  BACKSLASH,
  type BodyTag,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  isSpace,
  LF,
  mayBeginTag,
  QUOTE,
  SLASH,
} from './names.ts';
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

/**
 * Finds where a body ends. Most bodies are strict JSON without a tag in their strings, and of those only `<` is looked
 * for: at the own closing tag one JSON.parse tells that the tag stands outside strings. Where that fails, or another
 * tag shows up, what came so far is scanned for quotes, each character once.
 */
export interface BodyScan extends BodyText {
  state: BodyState;
  phase: number;
  tag: BodyTag;
  /** A possible tag's text, which is not part of the body if it turns out to be one. */
  candidate: string;
  /** Made for the first: most bodies end without one. */
  scan: TagScan | undefined;
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
    scan: undefined,
  };
}

/** Lets go of the last body's text, which may be a megabyte. */
export function dropBody(body: BodyScan): void {
  body.scanned = '';
  body.unscanned = '';
  body.candidate = '';
  body.value = undefined;
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

/** No possible tag is being read: `goesOn` may be asked. */
export function isBetweenTags(body: BodyScan): boolean {
  return body.phase === JSON_TEXT;
}

/** Most pushes: a piece of the body without a tag. False, and nothing done, where it has to be scanned. */
export function goesOn(body: BodyScan, chunk: string): boolean {
  const length = body.length + chunk.length;
  if (length > body.maxLength || mayHoldTag(chunk)) return false;
  body.length = length;
  body.unscanned += chunk;
  return true;
}

function mayHoldTag(chunk: string): boolean {
  const end = chunk.length;
  if (end >= WORTH_A_CALL) return holdsPossibleTag(chunk);
  for (let i = 0; i < end; i++) if (chunk.charCodeAt(i) === 60 /* < */) return holdsPossibleTag(chunk);
  return false;
}

function holdsPossibleTag(chunk: string): boolean {
  const end = chunk.length;
  for (let i = indexOfTag(chunk, 0); i < end; i = indexOfTag(chunk, i + 1)) {
    if (mayBeginTag(chunk, i)) return true;
  }
  return false;
}

/** Reads on from `from` and returns the index after the last character used; `state` says whether the body ended. */
export function scanBody(body: BodyScan, chunk: string, from: number): number {
  const end = chunk.length;
  let i = from;
  let start = i;
  while (i < end) {
    if (body.phase === JSON_TEXT) {
      i = indexOfTag(chunk, i);
      const closer = body.tag === 'action' ? '</action>' : '</metadata>';
      const closes = chunk.startsWith(closer, i);
      if (closes || (i < end && mayBeginTag(chunk, i))) {
        if (start < i) keep(body, chunk.slice(start, i));
        start = i;
        if (closes) {
          // Read at once rather than by steps: most bodies end so.
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
          body.scan ??= createTagScan();
          startTag(body.scan);
          body.phase = TAG;
        }
      }
      i++;
      continue;
    }
    const c = chunk.charCodeAt(i);
    const next =
      body.phase === TAG && body.scan !== undefined ? stepCandidate(body, body.scan, c) : stepTail(c);
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

/** At the end of the stream: whether an own closing tag in a "string" was the last thing on its line. */
export function endsInStringTail(body: BodyScan): boolean {
  return body.phase === STRING_TAIL;
}

/** At the end of the stream: a tag that was not finished is part of the body. */
export function keepCandidate(body: BodyScan): void {
  keep(body, body.candidate);
  body.candidate = '';
}

const GOES_ON = 10;
const IS_TAIL = 11;
const IS_TEXT = 12;
type TagBodyStep = typeof GOES_ON | typeof IS_TAIL | typeof IS_TEXT | Exclude<BodyState, 0>;

/** Up to the moment it is certainly a tag, a candidate holds no quote and no backslash: it can be text as well. */
function stepCandidate(body: BodyScan, scan: TagScan, c: number): TagBodyStep {
  const verdict = stepTag(scan, c);
  const isTag = verdict === COMPLETE || (verdict === PENDING && scan.certain);
  if (!isTag) return verdict === PENDING ? GOES_ON : IS_TEXT;
  if (scan.closing && scan.name === body.tag) return stepOwnClose(body);
  return isInString(body) ? IS_TEXT : BROKEN_BY_TAG;
}

/** What the own closing tag means after what came so far. */
function stepOwnClose(body: BodyScan): typeof CLOSED | typeof IS_TAIL {
  if (parses(body)) return CLOSED;
  // Also straight after a backslash, which escapes for JSON and not for tags.
  return isInString(body) ? IS_TAIL : CLOSED;
}

function stepTail(c: number): TagBodyStep {
  if (c === LF) return BROKEN_BY_CLOSE;
  return isSpace(c) ? GOES_ON : IS_TEXT;
}

// Where JSON stands at the end of what was scanned for quotes.
const OUTSIDE = 0;
const STRING = 1;
const ESCAPE = 2;

/** What was read of a body, and how much of it is known to be JSON. */
export interface BodyText {
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
}

function keep(body: BodyText, text: string): void {
  body.length += text.length;
  body.unscanned += text;
  if (body.length > body.maxLength) {
    scanQuotes(body);
    body.tooLarge = true;
    body.scanned = '';
  }
}

function isInString(body: BodyText): boolean {
  scanQuotes(body);
  return body.quotes !== OUTSIDE;
}

/** The body's text, from the opening tag's `>` on. */
export function bodyText(body: BodyText): string {
  return body.scanned + body.unscanned;
}

/** What JSON.parse makes of a body that has ended; undefined where it is not strict JSON. */
export function strictValue(body: BodyText): unknown {
  if (body.value === undefined && body.triedLength !== body.length) parse(body);
  return body.value;
}

/**
 * Whether all of the body so far is strict JSON: then the closing tag stands outside strings. Not tried where it looks
 * quoted (a JSON.parse that fails costs more than the scan it saves), nor again before the body has doubled, so that
 * the tries together stay linear.
 */
function parses(body: BodyText): boolean {
  if (body.tooLarge || body.length < 2 * body.triedLength || !looksEnded(body.unscanned)) return false;
  parse(body);
  return body.value !== undefined;
}

/**
 * The text ends in `}`, and the last thing before the closing brackets is no escaped quote. One look at a character in one
 * loop: each place that has one is some 500 bytes of machine code.
 */
function looksEnded(text: string): boolean {
  let ended = false;
  let quoted = false;
  for (let i = text.length - 1; i >= 0; i--) {
    const c = text.charCodeAt(i);
    if (quoted) return c !== BACKSLASH;
    if (isSpace(c)) continue;
    if (c === CLOSE_BRACE || (ended && c === CLOSE_BRACKET)) ended = true;
    else if (!ended || c !== QUOTE) return ended;
    else quoted = true;
  }
  return ended;
}

function parse(body: BodyText): void {
  body.triedLength = body.length;
  try {
    body.value = JSON.parse(bodyText(body));
  } catch {
    body.value = undefined;
  }
}

/** Goes from quote to quote; a quote in a string counts unless an odd number of backslashes stands before it. */
function scanQuotes(body: BodyText): void {
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

/** Below this a loop over the characters beats the call of a native search; measured with 4 to 64 characters. */
const WORTH_A_CALL = 8;
/** The same where three marks are looked for. */
export const WORTH_THREE_CALLS = 16;

/** The index of the next `<` at or after `from`, or the text's length where there is none. */
function indexOfTag(text: string, from: number): number {
  const end = text.length;
  if (end - from >= WORTH_A_CALL) return earlier(text.indexOf('<', from), end);
  let i = from;
  while (i < end && text.charCodeAt(i) !== 60 /* < */) i++;
  return i;
}

/** `found` if it was found before `end`. */
export function earlier(found: number, end: number): number {
  return found >= 0 && found < end ? found : end;
}
