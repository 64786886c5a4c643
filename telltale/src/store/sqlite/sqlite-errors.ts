import { rmSync, writeFileSync } from 'node:fs';
import { RuntimeError } from '../../lib/errors.ts';

const SQLITE_IOERR = 10;
const UNWRITABLE = new Set([3, 8, 14, 23]); // PERM, READONLY, CANTOPEN, AUTH
/** They speak of one statement; all others, of the file or the machine. */
const OF_ONE_STATEMENT = new Set([1, 18, 19, 20, 25]); // ERROR, TOOBIG, CONSTRAINT, MISMATCH, RANGE
const NO_SPACE = new Set(['ENOSPC', 'EDQUOT']);
const NO_ACCESS = new Set([
  'EACCES',
  'EPERM',
  'EROFS',
  'ENOTDIR',
  'EEXIST',
  'ENOENT',
  'EISDIR',
  'ENAMETOOLONG',
  'ELOOP',
]);
const PROBE_BYTES = 64 * 1024;

/** Whether it is the statement that is to blame, so that others in the same group may go through. */
export function isOfOneStatement(thrown: unknown): boolean {
  const code = sqliteCode(thrown);
  return code === undefined || OF_ONE_STATEMENT.has(code & 0xff);
}

export function isBusy(thrown: unknown): boolean {
  const code = (sqliteCode(thrown) ?? 0) & 0xff;
  return code === 5 || code === 6;
}

/** What SQLite or the file system threw, as one of our errors. */
export function describeFailure(path: string, lockTimeoutMs: number, thrown: unknown): RuntimeError {
  if (thrown instanceof RuntimeError) return thrown;
  const found = thrown instanceof Error ? thrown.message : String(thrown);
  const extended = sqliteCode(thrown);
  if (extended === undefined) {
    const code = systemCode(thrown);
    if (NO_SPACE.has(code)) return storeFull(path, thrown);
    if (NO_ACCESS.has(code)) return storeUnwritable(path, found, thrown);
    return storeFailed(path, found, thrown);
  }
  const code = extended & 0xff;
  if (isBusy(thrown)) return storeLocked(path, lockTimeoutMs, thrown);
  if (code === 13) return storeFull(path, thrown);
  if (code === 11 || code === 26) return storeDamaged(path, found, thrown);
  if (UNWRITABLE.has(code)) return storeUnwritable(path, found, thrown);
  if (code === SQLITE_IOERR && hasNoSpace(path)) return storeFull(path, thrown);
  return storeFailed(path, found, thrown);
}

/** SQLite calls an exceeded quota an I/O error like any other: a write beside the file tells. */
function hasNoSpace(path: string): boolean {
  const probe = `${path}-probe`;
  try {
    writeFileSync(probe, Buffer.alloc(PROBE_BYTES));
    return false;
  } catch (error) {
    return NO_SPACE.has(systemCode(error));
  } finally {
    rmSync(probe, { force: true });
  }
}

function sqliteCode(thrown: unknown): number | undefined {
  if (!(thrown instanceof Error) || !('errcode' in thrown)) return undefined;
  return typeof thrown.errcode === 'number' ? thrown.errcode : undefined;
}

function systemCode(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : '';
}

export const storeNewer = (path: string, found: number, known: number) =>
  new RuntimeError('store_newer', `${path} is a store of version ${found}; this telltale knows ${known}.`, {
    hint: 'Update telltale, or use another file. Nothing was changed in this one.',
  });

export const storeForeign = (path: string, found: string) =>
  new RuntimeError('store_foreign', `${path} is ${found}, not a store of telltale.`, {
    hint: 'Give the path of another file; one that does not exist is created. Nothing was changed in this one.',
  });

export const storeDamaged = (path: string, found: string, cause?: unknown) =>
  new RuntimeError('store_damaged', `${path} cannot be read as a store: ${found}.`, {
    hint: 'Put a backup in its place, or move it away to begin anew.',
    cause,
  });

const storeLocked = (path: string, waitedMs: number, cause?: unknown) =>
  new RuntimeError('store_locked', `${path} is locked by another program; ${waitedMs} ms were waited.`, {
    hint: 'Close what holds the file open for writing (a SQLite shell, a backup), then try again.',
    retryable: true,
    cause,
  });

export const storeUnwritable = (path: string, found: string, cause?: unknown) =>
  new RuntimeError('store_unwritable', `${path} cannot be written: ${found}.`, {
    hint: 'Check who owns the file and its folder, or give another path.',
    cause,
  });

/** Nothing may be written beside it, so what a journal holds cannot be seen, and it may hold the newest events. */
export const storeJournalHidden = (path: string, cause?: unknown) =>
  new RuntimeError(
    'store_unwritable',
    `${path} has a journal that cannot be read where nothing may be written.`,
    {
      hint: `Copy it with its "-wal" file into a folder of your own, and look at it there.`,
      cause,
    },
  );

export const storeWritten = (path: string) =>
  new RuntimeError('store_locked', `${path} was written by another program while it was looked at.`, {
    hint: 'Try again.',
    retryable: true,
  });

export const storeGone = (path: string) =>
  new RuntimeError('store_gone', `${path} was deleted, moved or replaced while it was open.`, {
    hint: 'Put it back where it was, or restart to begin with what is there now. Nothing more is written to the old file.',
  });

const storeFull = (path: string, cause?: unknown) =>
  new RuntimeError('store_full', `There is no space left to write ${path}.`, {
    hint: 'Make room on that disk or raise the quota, then resume.',
    retryable: true,
    cause,
  });

export const storeFailed = (path: string, found: string, cause?: unknown) =>
  new RuntimeError('store_failed', `Writing ${path} failed: ${found}.`, {
    hint: 'Look at the disk and at the cause; what was reported as committed is safe.',
    cause,
  });

export const threadEnded = (path: string, found: string, cause?: unknown) =>
  new RuntimeError('store_failed', `The thread that writes ${path} has ended: ${found}.`, {
    hint: 'Restart the process; what was reported as committed is safe.',
    cause,
  });
