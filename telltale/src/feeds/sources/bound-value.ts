import type { Json, JsonObject } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { plainJson } from '../../targets/output/plain-json.ts';
import { MAX_FEED_VALUE } from '../max-feed-value.ts';
import { feedTooLarge, notText } from './feed-errors.ts';

/** What of a text is looked at to tell whether it is one. */
const LOOKED_AT = 8_192;
/** A text of which more than this share are characters that no text has is none. */
const MOSTLY = 0.3;
/** Room for the line that says how much is missing. */
const NOTE_ROOM = 100;

/** Sequences that colour a terminal. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const TERMINAL = /\x1b\[[0-9;?]*[A-Za-z]/g;
/** Control characters but tab and line ends, and halves of characters. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const JUNK = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\p{Surrogate}/gu;

/**
 * What a source gave, as plain JSON of bounded size: a text that is too long is cut and says so, anything else that is
 * too large is `feed_too_large`, and a text that is none `not_text`. `what` names the feed.
 */
export function boundValue(value: unknown, what: string): Json {
  if (typeof value === 'string') return cutBytes(cleanText(value, what));
  try {
    return clean(plainJson(value, `the source of ${what}`, MAX_FEED_VALUE), what);
  } catch (thrown) {
    if (thrown instanceof RuntimeError && thrown.code === 'output_too_large') throw feedTooLarge(what);
    throw thrown;
  }
}

/** In place of what no text has stands U+FFFD, which is how models are shown what cannot be read. */
function cleanText(text: string, what: string): string {
  if (text.search(JUNK) === -1) return text;
  const plain = text.replace(TERMINAL, '');
  const start = plain.slice(0, LOOKED_AT);
  const junk = (start.match(JUNK)?.length ?? 0) + (start.match(/\ufffd/g)?.length ?? 0);
  if (junk > MOSTLY * start.length) throw notText(`What the source of ${what} gave`);
  return plain.replace(JUNK, '\ufffd');
}

function clean(value: Json, what: string): Json {
  if (typeof value === 'string') return cleanText(value, what);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item: Json) => clean(item, what));
  return Object.fromEntries(
    Object.entries(value as JsonObject).map(([key, inner]) => [
      key.replace(JUNK, '\ufffd'),
      clean(inner, what),
    ]),
  );
}

function cutBytes(text: string): string {
  const bytes = text.length * 3 <= MAX_FEED_VALUE ? 0 : Buffer.byteLength(text);
  if (bytes <= MAX_FEED_VALUE) return text;
  const kept = Buffer.from(text).subarray(0, MAX_FEED_VALUE - NOTE_ROOM);
  const whole = new TextDecoder().decode(kept).replace(/\ufffd+$/, '');
  return `${whole}\n${cutNote(bytes - kept.length)}`;
}

/** The last line of a text that was cut. */
export const cutNote = (bytes: number): string => `… [cut: ${bytes} more bytes]`;
