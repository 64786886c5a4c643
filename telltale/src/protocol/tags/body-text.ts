import { BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, isSpace, QUOTE } from '../prose/chars.ts';

// Where JSON stands at the end of what was scanned for quotes.
export const OUTSIDE = 0;
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

export function keep(body: BodyText, text: string): void {
  body.length += text.length;
  body.unscanned += text;
  if (body.length > body.maxLength) {
    scanQuotes(body);
    body.tooLarge = true;
    body.scanned = '';
  }
}

export function isInString(body: BodyText): boolean {
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
export function parses(body: BodyText): boolean {
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
