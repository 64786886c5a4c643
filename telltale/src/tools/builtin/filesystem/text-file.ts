import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, type FileHandle, lstat, mkdir, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { RuntimeError } from '../../../lib/errors.ts';
import type { Json } from '../../../lib/json.ts';
import { escapedTagsIn, unescapeReservedTags } from '../../../lib/text.ts';
import { openChecked, openFolderPath, type PermittedPath } from '../../access/permitted-paths.ts';

const MAX_SHOWN_LINES = 10;

export interface Edit {
  readonly old_text: string;
  readonly new_text: string;
  readonly replace_all?: boolean;
}

/** A file before and after an edit. */
export interface EditedFile {
  readonly before: string;
  readonly after: string;
  readonly result: Json;
}

/** Replaces a text that occurs exactly once in the file, or every occurrence if requested. Writes nothing. */
export async function editedFile(path: PermittedPath, edit: Edit): Promise<EditedFile> {
  if (edit.old_text === '') throw nothingToReplace();
  const text = await readTextFile(path);
  const { before, after } = asInFile(edit, text, path.shown);
  const { replace_all: everywhere = false } = edit;
  const places = positionsOf(before, text);
  if (places.length === 0) throw notFound(path.shown, before, text);
  if (!everywhere) {
    // A second match that overlaps the first makes the edit ambiguous, too.
    const second = text.indexOf(before, (places[0] ?? 0) + 1);
    if (second !== -1) throw notUnique(path.shown, places.length > 1 ? places : [...places, second], text);
  }
  if (before === after) throw nothingChanges(path.shown);
  return {
    before: text,
    after: text.split(before).join(after),
    result: { path: path.shown, replaced: places.length, line: lineOf(places[0] ?? 0, text) },
  };
}

interface EditTexts {
  readonly before: string;
  readonly after: string;
}

const ESCAPED = '&lt;';

/**
 * The texts of an edit as the file has them. Results show the `<` of reserved tags as `&lt;`, so `&lt;` before such a
 * tag's name may stand for either, and the file decides. If the file has both, the edit is ambiguous.
 */
function asInFile({ old_text: before, new_text: after }: Edit, text: string, shown: string): EditTexts {
  const tags = escapedTagsIn(before);
  if (tags.length === 0) return { before, after };
  const found = new Map<string, { readonly at: number; readonly raw: readonly boolean[] }>();
  const pattern = escapePattern(before, tags);
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const [whole, ...forms] = match;
    if (!found.has(whole)) found.set(whole, { at: match.index, raw: forms.map((form) => form === '<') });
    pattern.lastIndex = match.index + 1;
  }
  const [first, second] = [...found];
  if (first === undefined) return { before, after };
  if (second !== undefined) {
    const differs = first[1].raw.findIndex((raw, index) => raw !== second[1].raw[index]);
    const name = tagName(before, tags[differs] ?? 0);
    const place = ({ at, raw }: { readonly at: number; readonly raw: readonly boolean[] }) =>
      `"${raw[differs] === true ? '<' : ESCAPED}${name}" at line ${lineOf(at, text)}`;
    throw ambiguousEdit(
      `The text to replace can be read in two ways, and "${shown}" has both: ${place(first[1])} and ${place(second[1])}.`,
    );
  }
  return { before: first[0], after: newTextAsInFile(after, before, tags, first[1].raw) };
}

/** Matches the text with each escaped tag either as it is or with a plain `<`. */
function escapePattern(before: string, tags: readonly number[]): RegExp {
  const quoted = (from: number, to?: number) =>
    before.slice(from, to).replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  const parts = tags.map((at, index) => quoted(at + ESCAPED.length, tags[index + 1]));
  return new RegExp(`${quoted(0, tags[0])}${parts.map((part) => `(<|&lt;)${part}`).join('')}`, 'g');
}

/** The new text, with its escaped tags written as the file writes those of the old text. */
function newTextAsInFile(
  after: string,
  before: string,
  tags: readonly number[],
  raw: readonly boolean[],
): string {
  if (!raw.includes(true)) return after;
  if (!raw.includes(false)) return unescapeReservedTags(after);
  const forms = new Map<string, boolean | 'both'>();
  for (const [index, at] of tags.entries()) {
    const name = tagName(before, at);
    const form = raw[index] === true;
    forms.set(name, (forms.get(name) ?? form) === form ? form : 'both');
  }
  let written = '';
  let from = 0;
  for (const at of escapedTagsIn(after)) {
    const form = forms.get(tagName(after, at));
    if (form === undefined || form === 'both')
      throw ambiguousEdit(
        `The text to replace has both < and &lt; in front of tags, so "&lt;${tagName(after, at)}" in the new text is ambiguous: it may stay as it is, or mean "<${tagName(after, at)}".`,
      );
    written += after.slice(from, at) + (form ? '<' : ESCAPED);
    from = at + ESCAPED.length;
  }
  return written + after.slice(from);
}

const tagName = (text: string, at: number): string =>
  /^\/?\w+/.exec(text.slice(at + ESCAPED.length, at + ESCAPED.length + 20))?.[0] ?? '';

function positionsOf(part: string, text: string): readonly number[] {
  const places: number[] = [];
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) places.push(at);
  return places;
}

function lineOf(offset: number, text: string): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) line++;
  return line;
}

const nothingToReplace = () =>
  new RuntimeError('bad_parameters', '"/old_text" is empty.', {
    hint: 'Give the text to replace. To create a file, use the operation "write".',
  });

const ambiguousEdit = (message: string) =>
  new RuntimeError('edit_failed', message, {
    hint: 'Write < where the file has <. Where it has &lt;, include more of the surrounding text, so that only one place matches.',
  });

const nothingChanges = (shown: string) =>
  new RuntimeError(
    'bad_parameters',
    `The edit of "${shown}" would change nothing, because both texts are the same.`,
  );

const NUMBERED = /^ *\d+\t/m;

/** White space and line breaks differ most often. If nothing else does, the message says so. */
function notFound(shown: string, before: string, text: string): RuntimeError {
  const squeeze = (part: string) => part.replace(/\s+/g, ' ').trim();
  const first = squeeze(before.trim().split('\n')[0] ?? '');
  const lines = text.split('\n');
  if (NUMBERED.test(before) && text.includes(before.replaceAll(/^ *\d+\t/gm, '')))
    return new RuntimeError('edit_failed', `The text to replace is not in "${shown}".`, {
      hint: 'Leave out the line numbers and the tabs after them. They are not part of the file.',
    });
  const near = first === '' ? -1 : lines.findIndex((line) => squeeze(line).includes(first));
  const hint = squeeze(text).includes(squeeze(before))
    ? 'It is there with different white space or line breaks. Read the file and copy the text exactly.'
    : near === -1
      ? 'Read the file again. It may have changed.'
      : `Its first line is at line ${near + 1}, but the following lines differ. Read the file again.`;
  return new RuntimeError('edit_failed', `The text to replace is not in "${shown}".`, { hint });
}

function notUnique(shown: string, places: readonly number[], text: string): RuntimeError {
  const lines = places.slice(0, MAX_SHOWN_LINES).map((place) => lineOf(place, text));
  const more = places.length > MAX_SHOWN_LINES ? ', …' : '';
  return new RuntimeError(
    'edit_failed',
    `The text to replace occurs ${places.length} times in "${shown}", at lines ${lines.join(', ')}${more}.`,
    { hint: 'Include more of the surrounding text, or set "replace_all": true.' },
  );
}

/** The largest file that is read as a whole, in bytes. */
export const MAX_TEXT_BYTES = 16 * 1024 * 1024;

/**
 * How much of a file's name the name of its temporary file contains. At three bytes per character, a name of 255 bytes
 * has room for this.
 */
const MAX_NAME_KEPT = 60;

/**
 * Reads a whole text file. Never blocks on a pipe, and never follows a link put in place of the file after the check.
 */
export async function readTextFile({ real, shown }: PermittedPath): Promise<string> {
  try {
    await using handle = await openChecked(real, shown, constants.O_RDONLY);
    const stats = await handle.stat();
    if (stats.isDirectory()) throw isFolder(shown);
    if (!stats.isFile()) throw notRegular(shown);
    if (stats.size > MAX_TEXT_BYTES) throw fileTooLarge(shown, stats.size, MAX_TEXT_BYTES);
    const bytes = await handle.readFile();
    const text = decodeText(bytes);
    if (text === undefined) throw fileBinary(shown, bytes.length);
    return text;
  } catch (thrown) {
    throw fileFailed(shown, thrown);
  }
}

/** Undefined for anything that is not UTF-8 text. A byte order mark is kept, so that an edit does not lose it. */
function decodeText(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/**
 * Writes the whole file or nothing: the content goes to a temporary file, which is renamed. Missing folders are
 * created, and the file's mode is kept. Each folder is held open, so replacing one with a link after the check changes
 * nothing. A write that fails removes the folders it created.
 */
export async function writeTextFile({ real, shown }: PermittedPath, content: string): Promise<void> {
  const made: string[] = [];
  try {
    await using handle = await openFolder(dirname(real), shown, made);
    await replaceFile(await openFolderPath(handle, dirname(real)), basename(real), shown, content);
  } catch (thrown) {
    for (const folder of made.reverse()) await rmdir(folder).catch(() => undefined); // someone put a file there
    throw fileFailed(shown, thrown);
  }
}

const FOLDER = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0);

/** Opens a folder. Creates it if needed, below the deepest folder that exists, which is checked first. */
async function openFolder(folder: string, shown: string, made: string[]): Promise<FileHandle> {
  const missing: string[] = [];
  let at = folder;
  for (; dirname(at) !== at && !(await exists(at)); at = dirname(at)) missing.unshift(basename(at));
  let handle = await openChecked(at, shown, FOLDER);
  for (const name of missing) {
    const held = join(await openFolderPath(handle, at), name);
    at = join(at, name);
    try {
      await mkdir(held).then(() => made.push(at), ignoreExisting);
      const next = await openChecked(at, shown, FOLDER);
      await handle.close();
      handle = next;
    } catch (thrown) {
      await handle.close();
      throw thrown;
    }
  }
  return handle;
}

const exists = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    (thrown: NodeJS.ErrnoException) => {
      if (thrown.code === 'ENOENT') return false;
      throw thrown;
    },
  );

function ignoreExisting(thrown: NodeJS.ErrnoException): void {
  if (thrown.code !== 'EEXIST') throw thrown;
}

async function replaceFile(folder: string, name: string, shown: string, content: string): Promise<void> {
  const place = join(folder, name);
  const beside = join(folder, `.${name.slice(0, MAX_NAME_KEPT)}.${randomBytes(6).toString('hex')}.tmp`);
  const before = await lstat(place).catch(() => undefined);
  if (before?.isDirectory()) throw isFolder(shown);
  if (before !== undefined && !before.isFile()) throw notRegular(shown);
  try {
    await writeFile(beside, content, { flag: 'wx' });
    if (before !== undefined) await chmod(beside, before.mode);
    await rename(beside, place);
  } catch (thrown) {
    await rm(beside, { force: true }).catch(() => undefined); // the first failure is the one to report
    throw thrown;
  }
}

/** Explains a file error of the system. `shown` is the path as results name it. */
export function fileFailed(shown: string, thrown: unknown): RuntimeError {
  if (thrown instanceof RuntimeError) return thrown;
  const code = thrown instanceof Error ? (thrown as NodeJS.ErrnoException).code : undefined;
  switch (code) {
    case 'ENOENT':
      return fileMissing(shown, thrown);
    case 'EISDIR':
      return isFolder(shown);
    case 'ENOTDIR':
      return new RuntimeError('file_missing', `"${shown}" is not a folder.`, {
        hint: 'Read it with the operation "read".',
        cause: thrown,
      });
    case 'EACCES':
    case 'EPERM':
      return new RuntimeError('file_denied', `Permission denied for "${shown}".`, {
        hint: 'Check its owner and its mode.',
        cause: thrown,
      });
    case 'ENOSPC':
      return new RuntimeError('disk_full', `The disk is full, so "${shown}" cannot be written.`, {
        cause: thrown,
      });
    case 'ENAMETOOLONG':
      return new RuntimeError('bad_parameters', `The name of "${shown.slice(0, 100)}…" is too long.`, {
        cause: thrown,
      });
    default:
      return new RuntimeError(
        'file_failed',
        `"${shown}" cannot be used${code === undefined ? '' : `: ${code}`}.`,
        {
          hint: 'See the cause.',
          cause: thrown,
        },
      );
  }
}

const fileMissing = (shown: string, cause?: unknown) =>
  new RuntimeError('file_missing', `"${shown}" does not exist.`, {
    hint: 'Find files with the operations "list" or "glob".',
    cause,
  });

const isFolder = (shown: string) =>
  new RuntimeError('file_failed', `"${shown}" is a folder.`, {
    hint: 'List it with the operations "list" or "tree".',
  });

export const notRegular = (shown: string) =>
  new RuntimeError('file_failed', `"${shown}" is a pipe, a socket or a device, not a file or a folder.`);

const fileTooLarge = (shown: string, bytes: number, limit: number) =>
  new RuntimeError('file_too_large', `"${shown}" has ${bytes} bytes. The limit is ${limit}.`, {
    hint: 'Read it in parts with "offset" and "limit", or search it with the operation "grep".',
  });

const fileBinary = (shown: string, bytes: number) =>
  new RuntimeError(
    'file_binary',
    `"${shown}" is not text: it contains zero bytes or invalid UTF-8 (${bytes} bytes).`,
    {
      hint: 'Only text can be read and edited.',
    },
  );
