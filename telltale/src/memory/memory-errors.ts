import { type ErrorJson, RuntimeError } from '../kernel/runtime-error.ts';

export const folderMissing = (folder: string) =>
  new RuntimeError('folder_missing', `There is no folder at ${folder}.`, {
    hint: 'Give the path of the folder that the graph is about.',
  });

export const notAFolder = (folder: string) =>
  new RuntimeError('not_a_folder', `${folder} is not a folder.`, {
    hint: 'Give the path of the folder that the graph is about, not that of a file in it.',
  });

export const folderUnreadable = (folder: string, cause: unknown) =>
  new RuntimeError('folder_unreadable', `${folder} cannot be looked at: ${messageOf(cause)}.`, {
    hint: 'Look at its permissions.',
    cause,
  });

/** The thread ended more often than files can be blamed for. */
export const indexThreadEnded = (folder: string, cause: unknown) =>
  new RuntimeError('index_failed', `The thread that reads ${folder} ended: ${messageOf(cause)}.`, {
    hint: 'What was read is kept: index again and it goes on from there.',
    retryable: true,
    cause,
  });

export const indexFailed = (folder: string, error: ErrorJson) =>
  new RuntimeError('index_failed', `${folder} could not be indexed: ${error.message}`, {
    hint: error.hint ?? 'What was read is kept: index again and it goes on from there.',
  });

export const memoryClosed = (folder: string) =>
  new RuntimeError('memory_closed', `The memory of ${folder} was closed before.`, {
    hint: 'Open it again with openMemory.',
  });

const messageOf = (cause: unknown): string =>
  (cause instanceof Error ? cause.message : String(cause)).replace(/\.$/, '');
