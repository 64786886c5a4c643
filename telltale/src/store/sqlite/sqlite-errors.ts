import { RuntimeError } from '../../kernel/runtime-error.ts';

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

export const storeLocked = (path: string, waitedMs: number, cause?: unknown) =>
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

export const storeFull = (path: string, cause?: unknown) =>
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
