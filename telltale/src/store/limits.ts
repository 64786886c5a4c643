import type { Append } from './store.ts';
import { appendTooLarge, eventMalformed, messageTooLarge, nameMalformed } from './store-errors.ts';

/** What may wait, over all streams of a store, before more is turned away. */
export const MAX_QUEUED = 200_000;
export const MAX_QUEUED_CHARS = 256 * 1024 * 1024;
/** Of the events of one append, a line break behind each counted. */
export const MAX_APPEND_CHARS = 64 * 1024 * 1024;
export const MAX_INBOX_MESSAGES = 10_000;
const MAX_MESSAGE_CHARS = 4 * 1024 * 1024;
const MAX_NAME_CHARS = 1024;

const LONE_SURROGATE = /\p{Surrogate}/u;

/** Names of streams and tables, and keys: what every home can store and sort alike. Throws `name_malformed`. */
export function checkName(what: string, name: string): void {
  if (name.length === 0) throw nameMalformed(what, 'empty');
  if (name.length > MAX_NAME_CHARS) throw nameMalformed(what, `${name.length} characters long`);
  if (LONE_SURROGATE.test(name)) throw nameMalformed(what, 'half of a character');
  if (name.includes('\0')) throw nameMalformed(what, 'a text with a NUL in it');
}

/**
 * The events of an append, a line each: JSON has no line break of its own. Throws what makes it impossible wherever the
 * log lives. Lines are looked at once they are put together: each alone would first be copied into one piece.
 */
export function joinAppend(stream: string, append: Append): string {
  const { events } = append;
  checkSize(stream, append);
  const [first = ''] = events;
  const body = events.length < 2 ? first : events.join('\n');
  let breaks = 0;
  for (let at = body.indexOf('\n'); at !== -1; at = body.indexOf('\n', at + 1)) breaks++;
  if (breaks !== Math.max(0, events.length - 1)) throw eventMalformed(stream);
  return body;
}

function checkSize(stream: string, { events, writes }: Append): void {
  let chars = 0;
  for (const event of events) chars += event.length + 1;
  if (chars > MAX_APPEND_CHARS) throw appendTooLarge(stream, chars, MAX_APPEND_CHARS);
  if (writes === undefined) return;
  for (const { table, key } of writes) {
    checkName('A table', table);
    checkName('A key', key);
  }
}

export function checkMessage(stream: string, encoded: string): void {
  if (encoded.length > MAX_MESSAGE_CHARS) throw messageTooLarge(stream, encoded.length, MAX_MESSAGE_CHARS);
}
