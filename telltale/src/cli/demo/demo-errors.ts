import { RuntimeError } from '../../kernel/runtime-error.ts';
import { usage } from '../usage.ts';

export const filesMissing = (template: string, cause: NodeJS.ErrnoException) =>
  new RuntimeError(
    'demo_missing',
    `The files of the demo cannot be read at ${template} (${reason(cause)}).`,
    {
      hint: 'Reinstall the package; in a clone: git checkout -- telltale/transcripts',
      cause,
    },
  );

export const cannotLayOut = (folder: string, cause: NodeJS.ErrnoException) =>
  new RuntimeError('cannot_write', `Cannot create the demo in ${folder} (${reason(cause)}).`, {
    hint:
      cause.code === 'ENOSPC'
        ? 'The disk is full: free some space, or name a folder on another one with --dir.'
        : 'Name a folder that you may write to: --dir DIR.',
    cause,
  });

export const notEmpty = (dir: string) =>
  usage(`--dir '${dir}' is not empty.`, 'Name a new or empty folder: the demo overwrites nothing.');

export const notAFolder = (dir: string) =>
  usage(`--dir '${dir}' is not a folder.`, 'Name a new or empty folder.');

const reason = ({ code, message }: NodeJS.ErrnoException) => code ?? message;
