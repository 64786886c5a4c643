import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, type FileHandle, lstat, mkdir, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { heldFolder, openChecked } from '../../access/open-checked.ts';
import type { PermittedPath } from '../../access/permitted-paths.ts';
import { fileBinary, fileFailed, fileTooLarge, isFolder, notRegular } from './file-errors.ts';

/** Bytes of a file that is read as a whole. */
export const MAX_TEXT_BYTES = 16 * 1024 * 1024;

/** Characters of a file's name in that of what is written beside it: at three bytes each, a name has room for 255. */
const MAX_NAME_KEPT = 60;

/** A text file as a whole. Never waits on a pipe; a link put in place of the file after the check is not followed. */
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

/** Undefined for what is no UTF-8 text. A byte order mark stays: an edit must not lose it. */
function decodeText(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/**
 * Whole or not at all: written next to the file and renamed to it. Missing folders are created, the file's mode is kept.
 * Each folder is held open, so that a link put in its place after the check changes nothing. A write that fails leaves
 * no new folder behind.
 */
export async function writeTextFile({ real, shown }: PermittedPath, content: string): Promise<void> {
  const made: string[] = [];
  try {
    await using handle = await openFolder(dirname(real), shown, made);
    await replaceFile(await heldFolder(handle, dirname(real)), basename(real), shown, content);
  } catch (thrown) {
    for (const folder of made.reverse()) await rmdir(folder).catch(() => undefined); // somebody put a file there
    throw fileFailed(shown, thrown);
  }
}

const FOLDER = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0);

/** Opens a folder, and creates it below the deepest one that exists, which is checked first. */
async function openFolder(folder: string, shown: string, made: string[]): Promise<FileHandle> {
  const missing: string[] = [];
  let at = folder;
  for (; dirname(at) !== at && !(await isThere(at)); at = dirname(at)) missing.unshift(basename(at));
  let handle = await openChecked(at, shown, FOLDER);
  for (const name of missing) {
    const held = join(await heldFolder(handle, at), name);
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

const isThere = (path: string): Promise<boolean> =>
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
