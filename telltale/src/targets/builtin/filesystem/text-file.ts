import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, lstat, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { makeFolder } from '../../../manifest/files/make-folder.ts';
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
 * Whole or not at all: written beside it and put in its place. Folders are made, the file's mode is kept. The folder is
 * held open meanwhile, so that a link put in its place after the check changes nothing.
 */
export async function writeTextFile({ real, shown }: PermittedPath, content: string): Promise<void> {
  const folder = dirname(real);
  try {
    await makeFolder(folder);
    await using handle = await openChecked(folder, shown, constants.O_RDONLY | (constants.O_DIRECTORY ?? 0));
    await replaceFile(await heldFolder(handle, folder), basename(real), shown, content);
  } catch (thrown) {
    throw fileFailed(shown, thrown);
  }
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
