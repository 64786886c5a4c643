import { constants } from 'node:fs';
import { type FileHandle, lstat, open, readlink, realpath } from 'node:fs/promises';
import { movedPath } from './path-errors.ts';

/**
 * Opens a path that was checked, and makes sure that what is open is what was checked: between the two somebody may
 * have put a link in the place of a folder on its way. `real` has no link in it.
 */
export async function openChecked(real: string, shown: string, flags: number): Promise<FileHandle> {
  const safely = flags | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
  const handle = await open(real, safely).catch(async (thrown: unknown) => {
    const isLink = (await lstat(real).catch(() => undefined))?.isSymbolicLink();
    throw isLink === true ? movedPath(shown) : thrown;
  });
  try {
    if ((await placeOf(handle, real)) !== real) throw movedPath(shown);
    return handle;
  } catch (thrown) {
    await handle.close();
    throw thrown;
  }
}

/** Linux says where an open file lies; elsewhere it is looked up again, which leaves a moment. */
const placeOf = (handle: FileHandle, real: string): Promise<string> =>
  readlink(`/proc/self/fd/${handle.fd}`).catch(() => realpath(real));

/** A path by which a folder that is open is reached whatever becomes of its name; the name where there is none. */
export async function heldFolder(handle: FileHandle, real: string): Promise<string> {
  const held = `/proc/self/fd/${handle.fd}`;
  return (await readlink(held).catch(() => undefined)) === undefined ? real : held;
}
