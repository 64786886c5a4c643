import { nearest } from '../../kernel/nearest.ts';
import type { Diagnostic, Finding } from '../diagnostic.ts';
import { MANIFEST_LIMITS } from '../limits.ts';
import { quoted } from '../printable.ts';
import type { FileProblem } from './files.ts';

const error = (code: string, message: string, hint: string): Finding => ({
  severity: 'error',
  code,
  message,
  hint,
});

/** A finding about a file as a whole, or about one that could not be read. */
export const fileDiagnostic = (file: string, { severity, code, message, hint }: Finding): Diagnostic => ({
  severity,
  code,
  file,
  message,
  ...(hint === undefined ? {} : { hint }),
});

/** Why a file could not be read, in words. `path` is as the user knows it. */
export function fileFinding(problem: FileProblem, path: string): Finding {
  const name = quoted(path);
  switch (problem.type) {
    case 'missing': {
      if (problem.siblings === undefined)
        return error(
          'file_missing',
          `There is no folder for ${name}.`,
          'Check the path. It is relative to the file that names it.',
        );
      const base = path.split('/').at(-1) ?? path;
      const near = nearest(base, problem.siblings);
      return error(
        'file_missing',
        `There is no file ${name}.`,
        near === undefined
          ? 'Create it, or correct the path.'
          : `Did you mean ${quoted(path.slice(0, path.length - base.length) + near)}?`,
      );
    }
    case 'denied':
      return error(
        'file_denied',
        `${name} cannot be read: permission denied.`,
        'Check the permissions of the file and of its folders.',
      );
    case 'folder':
      return error(
        'not_a_file',
        `${name} is a folder.`,
        `Name a file, or a glob: ${quoted(`${path.replace(/\/$/, '')}/*.yml`)}.`,
      );
    case 'special':
      return error(
        'not_a_file',
        `${name} is ${problem.what}, not a file.`,
        'Name a regular file; "-" reads standard input.',
      );
    case 'too_large':
      return error(
        'file_too_large',
        `${name} has ${problem.bytes.toLocaleString('en')} bytes; a manifest has at most ${MANIFEST_LIMITS.fileBytes.toLocaleString('en')}.`,
        'Split it into several files and import them. Is this file a manifest?',
      );
    case 'link_loop':
      return error(
        'link_loop',
        `${name} is a symbolic link that leads back to itself.`,
        'Replace the link with the file.',
      );
    case 'unreadable':
      return error(
        'file_unreadable',
        `${name} cannot be read (${problem.reason}).`,
        'Check the disk and the path.',
      );
  }
}
