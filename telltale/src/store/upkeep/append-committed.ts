import { RuntimeError } from '../../lib/errors.ts';
import type { Append, StreamWriter } from '../store.ts';

/** Resolves when the append is committed; rejects where it is refused, or fails. */
export const appendCommitted = (writer: StreamWriter, append: Append): Promise<void> =>
  new Promise((resolve, reject) =>
    writer.append(append, (error) => (error === undefined ? resolve() : reject(error))),
  );

export const exportTooLarge = (stream: string) =>
  new RuntimeError(
    'export_too_large',
    `"${stream}" has called more sessions and runs than one export takes.`,
    {
      hint: 'Export the whole store: leave --session out.',
    },
  );

export const importMalformed = (line: number, found: string, hint?: string) =>
  new RuntimeError('import_malformed', `Line ${line}: ${found}`, {
    hint: hint ?? 'Correct that line, or export again. Importing again skips what is already in the store.',
  });

export const importNewer = (found: unknown, known: number) =>
  new RuntimeError(
    'import_newer',
    `The export is of format ${JSON.stringify(found) ?? 'none'}; this version reads formats up to ${known}.`,
    { hint: 'Use the version of Telltale that wrote it, or a newer one. Nothing was imported.' },
  );

export const importConflict = (line: number, what: string) =>
  new RuntimeError(
    'import_conflict',
    `Line ${line}: ${what} is in this store already, and is another there.`,
    {
      hint: 'Import into an empty store, or take that out of the file. What is the same in both is never in the way.',
    },
  );

export const importReserved = (named: readonly string[], count: number) =>
  new RuntimeError(
    'import_reserved',
    `The file has ${count === 1 ? 'a row that grants' : `${count} rows that grant`} rights or run${count === 1 ? 's' : ''} by ${count === 1 ? 'itself' : 'themselves'}: ${listed(named, count - named.length)}.`,
    {
      hint: 'Nothing was imported. Add --trusted only to restore your own backup. To import the sessions alone, export them with: telltale store export FILE --session ID',
    },
  );

export const copyNotEmpty = (to: string, streams: number) =>
  new RuntimeError(
    'store_not_empty',
    `${to} has ${streams === 1 ? '1 session or run' : `${streams} sessions and runs`}, or tables, of its own.`,
    { hint: 'Copy into one that is empty or not there yet, or say --merge to add to what it has.' },
  );

export const copyOfAnother = (to: string, from: string) =>
  new RuntimeError('store_not_empty', `A copy of ${from} into ${to} was broken off.`, {
    hint: `Continue it: telltale store copy ${from} ${to}. Or choose another place for this one.`,
  });

export const copyIsOwned = (from: string, named: readonly string[], more: number) =>
  new RuntimeError('copy_refused', `Of ${from} these are being worked on: ${listed(named, more)}.`, {
    hint: 'Stop them (Ctrl-C, or drain the worker) and copy again. With --running they are copied as far as they are, and the same command without it brings the rest once they have stopped.',
    retryable: true,
  });

export const copyIsHalf = (from: string, named: readonly string[], more: number) =>
  new RuntimeError('copy_refused', `Into ${from} a copy or import was broken off: ${listed(named, more)}.`, {
    hint: 'Let that come to its end first: run the same command again.',
  });

export const copyDiffers = (to: string, named: readonly string[], more: number) =>
  new RuntimeError('copy_refused', `${to} has its own of these: ${listed(named, more)}.`, {
    hint: 'Nothing was written. Copy into an empty store, or take out of one of them what is not wanted.',
  });

export const copyUnlike = (named: readonly string[], more: number) =>
  new RuntimeError('copy_unlike', `After the copy these are not the same in both: ${listed(named, more)}.`, {
    hint: 'Somebody has worked on one of the stores meanwhile: stop that, and run the same command again.',
    retryable: true,
  });

export const copyMissed = (named: readonly string[], count: number) =>
  new RuntimeError(
    'copy_unlike',
    `Sessions and runs were begun while the store was copied, and are not in the copy: ${listed(named, count - named.length)}.`,
    {
      hint: 'Stop what works on the store that is copied, and run the same command again: it brings only what is missing.',
      retryable: true,
    },
  );

export const copyOntoItself = (location: string) =>
  new RuntimeError('usage', `${location} would be copied onto itself.`, { hint: 'Name two stores.' });

const listed = (named: readonly string[], more: number): string =>
  `${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;

/** What to do about a damaged stream. */
export const fromBackup = (stream: string): string =>
  `Restore it from a backup. What can still be read is saved by: telltale store export --session ${stream}`;
