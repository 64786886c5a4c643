import { RuntimeError } from '../lib/errors.ts';

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

export function checkMessage(stream: string, encoded: string): void {
  if (encoded.length > MAX_MESSAGE_CHARS) throw messageTooLarge(stream, encoded.length, MAX_MESSAGE_CHARS);
}

/** Failures that every home of the log has in common. Those of one home stand beside it. */

export const streamExists = (stream: string) =>
  new RuntimeError('stream_exists', `There is a stream named "${stream}" already.`, {
    hint: 'Resume that one, or choose another id.',
  });

export const streamUnknown = (stream: string) =>
  new RuntimeError('stream_unknown', `No stream is named "${stream}".`, {
    hint: 'List the streams of this store, and check that it is the store you mean.',
  });

/** `host`: of a store that several machines share, where the pid alone says little. */
export const streamOwned = (stream: string, pid: number, byThisProcess: boolean, host?: string) => {
  const who = host === undefined ? `process ${pid}` : `process ${pid} on ${host}`;
  return new RuntimeError('stream_owned', `Stream "${stream}" is being written by ${who}.`, {
    hint: byThisProcess
      ? 'That is this process: go on with what it has (runtime.session(id)), or let go of that first (interrupt()).'
      : `It is at work there: telltale logs ${stream} -f shows it. Or end ${who}, and try again.`,
    retryable: true,
  });
};

export const streamMoved = (stream: string, expected: number, head: number) =>
  new RuntimeError(
    'stream_moved',
    `Stream "${stream}" ends at event ${head}, but the append expected ${expected}.`,
    { hint: 'Stop, read the stream again and go on from what it says.' },
  );

export const streamLost = (stream: string, epoch: number) =>
  new RuntimeError('stream_lost', `The writer of epoch ${epoch} no longer owns stream "${stream}".`, {
    hint: 'Somebody else has taken it over or deleted it: stop working on it here.',
  });

export const streamRestoring = (stream: string) =>
  new RuntimeError(
    'stream_restoring',
    `Stream "${stream}" is being put into this store, and is not whole yet.`,
    { hint: 'Let the copy, import or fork end. Where it was broken off, run the same command again.' },
  );

export const streamReleased = (stream: string) =>
  new RuntimeError('stream_lost', `Stream "${stream}" was released by this writer.`, {
    hint: 'Acquire it again before appending.',
  });

export const storeClosed = (location: string) =>
  new RuntimeError('store_closed', `The store ${location} is closed.`, { hint: 'Open it again.' });

export const storeOverloaded = (location: string, found: string) =>
  new RuntimeError('store_overloaded', `The store ${location} has ${found} waiting to be written.`, {
    hint: 'Wait for appends to settle before making more, or run fewer sessions at once.',
    retryable: true,
  });

export const appendTooLarge = (stream: string, chars: number, limit: number) =>
  new RuntimeError(
    'append_too_large',
    `An append to stream "${stream}" has ${chars} characters, ${limit} are allowed.`,
    { hint: 'Keep large values in files or artifacts, and put their paths on the log.' },
  );

export const eventMalformed = (stream: string) =>
  new RuntimeError('event_malformed', `An event for stream "${stream}" holds a line break.`, {
    hint: 'Encode each event as one line of JSON.',
  });

export const inboxFull = (stream: string, limit: number) =>
  new RuntimeError('inbox_full', `The inbox of stream "${stream}" holds ${limit} messages.`, {
    hint: 'Resume the session so that it reads them, or send less often.',
    retryable: true,
  });

const messageTooLarge = (stream: string, chars: number, limit: number) =>
  new RuntimeError(
    'message_too_large',
    `A message to stream "${stream}" has ${chars} characters, ${limit} are allowed.`,
    { hint: 'Put the content into a file and send its path.' },
  );

export const nameMalformed = (what: string, found: string) =>
  new RuntimeError('name_malformed', `${what} cannot be ${found}.`, {
    hint: 'Use 1 to 1024 characters of well-formed Unicode.',
  });

export const notANumber = (table: string, key: string) =>
  new RuntimeError(
    'not_a_number',
    `"${key}" in table "${table}" cannot be counted up: it, or what is added, is no finite number.`,
    { hint: 'Set it to a number first, or use another key.' },
  );

export const notExact = (table: string, key: string, by: number) =>
  new RuntimeError(
    'not_exact',
    `"${key}" in table "${table}" cannot be counted up by ${by}: numbers of its size are not exact.`,
    { hint: 'Set it to a smaller number first, or use another key.' },
  );

export const listMoved = (list: string, expected: number, found: number) =>
  new RuntimeError(
    'list_moved',
    `List "${list}" ends at entry ${found}, but entry ${expected} was to be put into it.`,
    { hint: 'Somebody writes to this store: stop that, and try again.' },
  );

export const rowUnreadable = (table: string, key: string, cause: unknown) =>
  new RuntimeError('row_unreadable', `"${key}" in table "${table}" is no JSON.`, {
    hint: 'Set it anew, or restore it from a backup.',
    cause,
  });

/**
 * Whether a counter may be set from `before` to `before + by`. Beyond 2^53 a sum of whole numbers may be another one, or
 * one of the two again: who counts would never notice.
 */
export function isExactSum(before: number, by: number): boolean {
  if (before === 0 || by === 0) return true;
  const after = before + by;
  if (after === before || after === by) return false;
  if (!Number.isInteger(before) || !Number.isInteger(by)) return true;
  // What is left without the larger of the two is exact itself, and so says what of the smaller one is in the sum.
  return Math.abs(by) > Math.abs(before) ? after - by === before : after - before === by;
}
