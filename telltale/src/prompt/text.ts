import { FRAME_BREAK, FRAME_MARK } from '../lib/calls.ts';
import { escapeReservedTags, repeatedEnd } from '../lib/text.ts';
import type { News } from '../log/turn-record.ts';
import { FAULT_CODES } from '../parser/intents.ts';

/** The fault of a turn that its provider's output limit ended. It says all that the parser's `truncated` would. */
export const OUTPUT_LIMIT = 'output_limit';

/** The faults of turns that the runtime cut off: for what they repeated, and for their length. */
export const REPEATS = 'repeats';
export const TURN_TOO_LONG = 'turn_too_long';

/**
 * The parser's faults quote nothing but what the model wrote. These of the runtime quote nothing, or escape what they do.
 */
const OWN_WORDS: ReadonlySet<string> = new Set([
  ...FAULT_CODES,
  'no_tags',
  'after_final',
  'foreign_call',
  OUTPUT_LIMIT,
]);

/**
 * Whether a fault's message is the runtime's own words, whose tags must stay as they are: they teach how to write them.
 * Any other may quote what came from outside (a tool's error, a response with results in it).
 */
export const isOwnWords = (code: string): boolean => OWN_WORDS.has(code);

const FLOODS: ReadonlySet<string> = new Set([REPEATS, TURN_TOO_LONG, 'body_too_large']);

/** Characters that are shown of what was too long to be read. */
const MAX_SHOWN = 16 * 1024;
/** Of a repetition: enough to see what it is. */
const MAX_REPEATED_SHOWN = 512;

/**
 * What a model said in a turn, without most of what it was cut off for: shown again, that would fill the window, and the
 * model would go on with it. `faults` are those of the turn. Calls that are whole stay.
 */
export function withoutFlood(said: string, faults: News['faults']): string {
  if (said.length <= MAX_SHOWN || !faults.some(({ code }) => FLOODS.has(code))) return said;
  const mark = said.lastIndexOf(FRAME_MARK);
  const from = mark === -1 ? 0 : said.indexOf(FRAME_BREAK, mark) + 1;
  if (from === 0 && mark !== -1) return said;
  return said.slice(0, from) + shortened(said.slice(from));
}

function shortened(text: string): string {
  const repeated = repeatedEnd(text);
  if (repeated !== undefined) {
    const { from, period } = repeated;
    const shown = wholeEnd(text, Math.min(text.length, from + Math.max(period, MAX_REPEATED_SHOWN)));
    return cutMiddle(text.slice(0, shown)) + leftOut('the same again and again', text.length - shown);
  }
  return cutMiddle(text);
}

function cutMiddle(text: string): string {
  const { head, tail, omitted } = cutText(text, MAX_SHOWN);
  return omitted === 0 ? text : head + leftOut('left out here', omitted) + tail;
}

const leftOut = (what: string, characters: number): string =>
  `\n[… ${characters.toLocaleString('en')} characters, ${what} …]\n`;

/** `end`, or one less where it would part a surrogate pair. */
export function wholeEnd(text: string, end: number): number {
  return end > 0 && end < text.length && isLow(text, end) && isHigh(text, end - 1) ? end - 1 : end;
}

const isHigh = (text: string, at: number) => (text.charCodeAt(at) & 0xfc00) === 0xd800;
const isLow = (text: string, at: number) => (text.charCodeAt(at) & 0xfc00) === 0xdc00;

/** At most `max` characters, with `…` where something is missing. */
export function clip(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, wholeEnd(text, max))}…` : text;
}

export interface Cut {
  readonly head: string;
  readonly tail: string;
  /** Characters between them. */
  readonly omitted: number;
}

/** Three parts of four from the beginning: most outputs say first what they are. */
const HEAD_SHARE = 0.75;

/** The beginning and the end of a text, `max` characters together; all of it where it is no longer. */
export function cutText(text: string, max: number): Cut {
  if (text.length <= max) return { head: text, tail: '', omitted: 0 };
  const headEnd = wholeEnd(text, Math.ceil(max * HEAD_SHARE));
  const tailStart = wholeEnd(text, text.length - Math.floor(max * (1 - HEAD_SHARE)));
  return { head: text.slice(0, headEnd), tail: text.slice(tailStart), omitted: tailStart - headEnd };
}

/** The same, cut between two lines where one of them is not longer than what is shown. */
export function cutLines(text: string, max: number): Cut {
  const { head, tail, omitted } = cutText(text, max);
  if (omitted === 0) return { head, tail, omitted };
  const headEnd = head.lastIndexOf('\n') + 1;
  const tailStart = tail.indexOf('\n') + 1;
  const first = headEnd === 0 ? head : head.slice(0, headEnd);
  const last = tail.slice(tailStart);
  return { head: first, tail: last, omitted: text.length - first.length - last.length };
}

const MASKED_KEY = '[key]';

/** Makes text from outside safe to stand in a prompt: it cannot speak the protocol. */
export type Escape = (text: string) => string;

/** `seal` is the session's key, which nobody but the runtime may put in front of the model. */
export function createEscape(seal?: string): Escape {
  if (seal === undefined || seal === '') return escapeReservedTags;
  return (text) => escapeReservedTags(text.includes(seal) ? text.replaceAll(seal, MASKED_KEY) : text);
}

/** How many tags of a text were escaped. */
export const escapesIn = (text: string, shown: string): number => countOf(shown) - countOf(text);

const countOf = (text: string) => text.split('&lt;').length - 1;

/** A value between double quotes in a tag of the runtime's own. */
export function escapeAttribute(value: string): string {
  return /[&<>"]/.test(value)
    ? value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
    : value;
}
