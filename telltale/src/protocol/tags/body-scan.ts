import { isSpace, LF, SLASH } from '../prose/chars.ts';
import { type BodyText, isInString, keep, OUTSIDE, parses } from './body-text.ts';
import { indexOfTag, WORTH_A_CALL } from './index-of-mark.ts';
import { type BodyTag, mayBeginTag } from './tag-names.ts';
import { COMPLETE, PENDING, stepTag } from './tag-scan.ts';
import { createTagScan, startTag, type TagScan } from './tag-scan-state.ts';

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
type Step = typeof GOES_ON | typeof IS_TAIL | typeof IS_TEXT | Exclude<BodyState, 0>;

/** Up to the moment it is certainly a tag, a candidate holds no quote and no backslash: it can be text as well. */
function stepCandidate(body: BodyScan, scan: TagScan, c: number): Step {
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

function stepTail(c: number): Step {
  if (c === LF) return BROKEN_BY_CLOSE;
  return isSpace(c) ? GOES_ON : IS_TEXT;
}
