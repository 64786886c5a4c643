import { realpathSync, statSync } from 'node:fs';
import { folderMissing, folderUnreadable, notAFolder } from '../memory-errors.ts';

/** Where a folder really is. */
export function realFolder(given: string): string {
  try {
    const folder = realpathSync(given);
    if (!statSync(folder).isDirectory()) throw notAFolder(given);
    return folder;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT' || code === 'ENOTDIR') throw folderMissing(given);
    throw code === 'not_a_folder' ? error : folderUnreadable(given, error);
  }
}
