import { hash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';

/** What is in a file: text to be parsed, or why it is known by name only. */
export type IndexSource = { readonly hash: string } & (
  | { readonly text: string; readonly note?: undefined }
  | { readonly note: 'too_large' | 'binary' }
);

/**
 * Reads a file of bounded size whole; of a larger one only the head, and its hash is that of size, time and head, so
 * that 200 MB cost no more than 64 KiB: it counts as changed where it may have. Throws what the file system says.
 */
export function readSource(path: string): IndexSource {
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

/**
 * When a file was last touched in any way. Who writes a file can set its time of modification back, as `cp -p`, archives
 * and some build tools do; that of its entry nobody can.
 */
export const changeTime = ({ mtimeMs, ctimeMs }: Pick<Stats, 'mtimeMs' | 'ctimeMs'>): number =>
  Math.max(mtimeMs, ctimeMs);

/** Files of a folder that a graph takes; what comes behind them is left out and said. */
export const MAX_FILES = 200_000;
/** Entries of folders that are looked at, whatever they are. */
export const MAX_ENTRIES = 2_000_000;
export const MAX_DEPTH = 64;
/** Of a path within the folder: as long as a name in the store may be. */
export const MAX_PATH_CHARS = 1024;
/** Larger files are known by name only. */
export const MAX_SOURCE_BYTES = 1024 * 1024;
/** Of a file that is too large, what its hash is made of. */
const HEAD_BYTES = 64 * 1024;
/** Where a NUL says that a file is no text. */
const BINARY_BYTES = 8 * 1024;
/** Source with longer lines than these, on average or a single one, was written by a program. */
const MAX_AVERAGE_LINE = 500;
const MAX_LINE = 20_000;
/** Below it a long line says nothing. */
const MIN_MINIFIED_CHARS = 4_096;
/** What one file may take to be read. */
export const PARSE_BUDGET_MS = 2_000;
/** A file system may give two writes of one moment the same time: git calls such a file racy, too. */
export const RACY_MS = 2_000;
/** A batch goes to the store when it holds so many files, or about so many characters. */
export const BATCH_FILES = 48;
export const BATCH_CHARS = 1024 * 1024;
/** Batches that the thread may be ahead of the store. */
export const BATCHES_AHEAD = 3;
/** Files that may end the thread in one pass before the pass is given up. */
export const MAX_RESTARTS = 8;
/** A file that holds the thread so long, whatever its budget says, ends it. */
export const STUCK_MS = 15_000;
/** The thread ends itself when it has had nothing to do for so long. */
export const IDLE_MS = 30_000;
/** Files that say how imports are written: `package.json`, `tsconfig.json`, `go.mod`. */
export const MAX_MANIFESTS = 2_000;
export const MAX_MANIFEST_BYTES = 256 * 1024;
