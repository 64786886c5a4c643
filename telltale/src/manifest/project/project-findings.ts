import type { Finding } from '../diagnostic.ts';
import { MANIFEST_LIMITS } from '../limits.ts';
import { quoted } from '../printable.ts';

const error = (code: string, message: string, hint: string): Finding => ({
  severity: 'error',
  code,
  message,
  hint,
});

const WIDER = 'Move it into the project, or set a root that contains it (--root DIR).';

export const outsideProject = (path: string, root: string) =>
  error('outside_project', `${quoted(path)} is outside the project (${rootName(root)}).`, WIDER);

export const entryOutside = (path: string, root: string) =>
  error(
    'outside_project',
    `${quoted(path)} is outside the root (${rootName(root)}).`,
    'Set a root that contains it (--root DIR).',
  );

const rootName = (root: string) => (root === '.' ? 'the current folder' : root);

export const globClimbs = (pattern: string) =>
  error(
    'outside_project',
    `${quoted(pattern)} has ".." after a wildcard.`,
    'Put "../" only at the beginning.',
  );

export const globMatchesNothing = (pattern: string): Finding => ({
  severity: 'warning',
  code: 'import_matches_nothing',
  message: `${quoted(pattern)} matches no file.`,
  hint: 'Create one, or correct the pattern. It is relative to this manifest. Symbolic links are not followed.',
});

export const globTooWide = (pattern: string, limit: number) =>
  error(
    'glob_too_wide',
    limit === MANIFEST_LIMITS.globMatches
      ? `${quoted(pattern)} matches more than ${limit.toLocaleString('en')} files.`
      : `${quoted(pattern)} searches more than ${limit.toLocaleString('en')} files and folders.`,
    'Choose a smaller folder.',
  );

export const globTooComplex = (pattern: string, why: string) =>
  error(
    'glob_too_complex',
    `${quoted(pattern)} ${why}.`,
    'Write several simpler entries, such as "./tools/*.yml" or "./{tools,more}/**/*.yml".',
  );

export const globUnreadable = (pattern: string, reason: string) =>
  error(
    'file_unreadable',
    `${quoted(pattern)} cannot be searched for (${reason}).`,
    'Check the folder and its permissions.',
  );

export const tooManyFiles = (what: 'files' | 'bytes') =>
  error(
    'too_many_files',
    what === 'files'
      ? `More than ${MANIFEST_LIMITS.files.toLocaleString('en')} files would be loaded.`
      : `More than ${MANIFEST_LIMITS.totalBytes.toLocaleString('en')} bytes would be loaded.`,
    'Load fewer files, or use narrower globs.',
  );

export const wrongKind = (list: string, wanted: string, label: string, line: number, kind: string) =>
  error(
    'wrong_kind',
    `${label}:${line} is ${article(kind)} ${kind}, and "${list}" imports ${wanted}s.`,
    `List it under "${listOf(kind)}", or make the pattern narrower.`,
  );

const listOf = (kind: string) => `${kind.toLowerCase()}s`;
const article = (word: string) => (/^[aeiou]/i.test(word) ? 'an' : 'a');

export const nameTaken = (kind: string, name: string, label: string, line: number) =>
  error(
    'name_taken',
    `Another ${kind} is already named ${quoted(name)}: ${label}:${line}.`,
    'Rename one of them. Names are unique per kind.',
  );

export const builtinNameTaken = (name: string, label: string, line: number) =>
  error(
    'name_taken',
    `"builtin:${name}" and the Tool in ${label}:${line} have the same name.`,
    'Rename your tool, or remove the built-in one.',
  );
