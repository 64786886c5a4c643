import { hash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { changeTime } from './change-time.ts';
import {
  BINARY_BYTES,
  HEAD_BYTES,
  MAX_AVERAGE_LINE,
  MAX_LINE,
  MAX_SOURCE_BYTES,
  MIN_MINIFIED_CHARS,
} from './limits.ts';

/** What is in a file: text to be parsed, or why it is known by name only. */
export type Source = { readonly hash: string } & (
  | { readonly text: string; readonly note?: undefined }
  | { readonly note: 'too_large' | 'binary' }
);

/**
 * Reads a file of bounded size whole; of a larger one only the head, and its hash is that of size, time and head, so
 * that 200 MB cost no more than 64 KiB: it counts as changed where it may have. Throws what the file system says.
 */
export function readSource(path: string): Source {
  const file = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  try {
    const stats = fstatSync(file);
    const { size } = stats;
    if (size > MAX_SOURCE_BYTES) {
      const head = readAll(file, HEAD_BYTES);
      const sized = Buffer.concat([Buffer.from(`${size} ${changeTime(stats)} `), head]);
      return { hash: hash('sha256', sized), note: isBinary(head) ? 'binary' : 'too_large' };
    }
    const bytes = readAll(file, size);
    const own = hash('sha256', bytes);
    if (isBinary(bytes)) return { hash: own, note: 'binary' };
    const text = bytes.toString('utf8');
    return { hash: own, text: text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text };
  } finally {
    closeSync(file);
  }
}

const BYTE_ORDER_MARK = 0xfeff;

function readAll(file: number, size: number): Buffer {
  const buffer = Buffer.allocUnsafe(size);
  let filled = 0;
  while (filled < size) {
    const read = readSync(file, buffer, filled, size - filled, filled);
    if (read === 0) break; // It has become shorter since.
    filled += read;
  }
  return buffer.subarray(0, filled);
}

const isBinary = (bytes: Buffer): boolean => bytes.subarray(0, BINARY_BYTES).includes(0);

/** Whether a program wrote it for programs. Prose has long lines: only source is asked. */
export function isMinified(text: string): boolean {
  if (text.length < MIN_MINIFIED_CHARS) return false;
  let lines = 0;
  for (let start = 0; start < text.length; lines++) {
    const end = text.indexOf('\n', start);
    const stop = end === -1 ? text.length : end;
    if (stop - start > MAX_LINE) return true;
    start = stop + 1;
  }
  return text.length / lines > MAX_AVERAGE_LINE;
}
