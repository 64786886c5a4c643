import { RuntimeError } from '../../../kernel/runtime-error.ts';

/** What the system says of a file, in words. `shown` is the path as results name it. */
export function fileFailed(shown: string, thrown: unknown): RuntimeError {
  if (thrown instanceof RuntimeError) return thrown;
  const code = thrown instanceof Error ? (thrown as NodeJS.ErrnoException).code : undefined;
  switch (code) {
    case 'ENOENT':
      return fileMissing(shown, thrown);
    case 'EISDIR':
      return isFolder(shown);
    case 'ENOTDIR':
      return new RuntimeError('file_missing', `"${shown}" is no folder.`, {
        hint: 'Read it with the operation "read".',
        cause: thrown,
      });
    case 'EACCES':
    case 'EPERM':
      return new RuntimeError('file_denied', `The system does not let "${shown}" be used.`, {
        hint: 'Its owner or its mode forbids it.',
        cause: thrown,
      });
    case 'ENOSPC':
      return new RuntimeError('disk_full', `There is no room left to write "${shown}".`, { cause: thrown });
    case 'ENAMETOOLONG':
      return new RuntimeError('bad_parameters', `The name of "${shown.slice(0, 100)}…" is too long.`, {
        cause: thrown,
      });
    default:
      return new RuntimeError(
        'file_failed',
        `"${shown}" cannot be used${code === undefined ? '' : `: ${code}`}.`,
        {
          hint: 'The cause says why.',
          cause: thrown,
        },
      );
  }
}

const fileMissing = (shown: string, cause?: unknown) =>
  new RuntimeError('file_missing', `There is no "${shown}".`, {
    hint: 'Look with the operations "list" or "glob".',
    cause,
  });

export const isFolder = (shown: string) =>
  new RuntimeError('file_failed', `"${shown}" is a folder.`, {
    hint: 'See what is in it with the operations "list" or "tree".',
  });

export const notRegular = (shown: string) =>
  new RuntimeError(
    'file_failed',
    `"${shown}" is neither a file nor a folder but a pipe, a socket or a device.`,
  );

export const fileTooLarge = (shown: string, bytes: number, limit: number) =>
  new RuntimeError('file_too_large', `"${shown}" has ${bytes} bytes; ${limit} can be handled at once.`, {
    hint: 'Read it in parts with "offset" and "limit", or search it with the operation "grep".',
  });

export const fileBinary = (shown: string, bytes: number) =>
  new RuntimeError(
    'file_binary',
    `"${shown}" is no text: it holds zero bytes or is no UTF-8 (${bytes} bytes).`,
    {
      hint: 'Only text can be read and edited.',
    },
  );
