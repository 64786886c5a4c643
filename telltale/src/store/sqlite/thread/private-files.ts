import { chmodSync, closeSync, existsSync, lstatSync, mkdirSync, openSync, readdirSync } from 'node:fs';
import { platform, userInfo } from 'node:os';
import { basename, dirname, join } from 'node:path';

/** The runtime's own folder: everything in it is private. */
const OWN_FOLDER = '.telltale';
const PRIVATE_FOLDER = 0o700;
const PRIVATE_FILE = 0o600;
/** What SQLite keeps next to a database. It takes the mode of the database for a file that it creates. */
const COMPANIONS = ['', '-wal', '-shm', '-journal'];

/**
 * Creates the folder of a store, with those it lies in, for this user alone. Not mkdir's `recursive`: in a file system
 * without mkdir, such as /proc, that never comes back.
 */
export function makePrivateFolder(folder: string): void {
  if (existsSync(folder)) return;
  if (dirname(folder) !== folder) makePrivateFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: PRIVATE_FOLDER });
  } catch (error) {
    if (!existsSync(folder)) throw error; // else another process was quicker
  }
}

/**
 * Creates the file of a store, where there is none, so that nobody else can read it even before it has content. Only a
 * new file is opened: closing a descriptor of one that is in use would give up its locks.
 */
export function makePrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', PRIVATE_FILE));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** Takes away what others may do with an existing store and its folder, where they belong to this user. */
export function keepPrivate(path: string): void {
  if (platform() === 'win32') return;
  for (const companion of COMPANIONS) restrict(path + companion, PRIVATE_FILE);
  const folder = dirname(path);
  if (basename(folder) !== OWN_FOLDER) return;
  restrict(folder, PRIVATE_FOLDER);
  for (const name of readdirSync(folder)) {
    const below = join(folder, name);
    const isFolder = lstatSync(below, { throwIfNoEntry: false })?.isDirectory() === true;
    restrict(below, isFolder ? PRIVATE_FOLDER : PRIVATE_FILE);
  }
}

/** Links are left alone: what they lead to may be somebody else's choice. */
function restrict(path: string, mode: number): void {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined || stats.isSymbolicLink() || stats.uid !== userInfo().uid) return;
  const allowed = stats.mode & mode;
  if ((stats.mode & 0o777) === allowed) return;
  try {
    chmodSync(path, allowed);
  } catch (error) {
    // Some file systems have no modes. The store is as private there as its disk is.
    const { code = '' } = error as NodeJS.ErrnoException;
    if (!['ENOENT', 'ENOTSUP', 'ENOSYS', 'EPERM'].includes(code)) throw error;
  }
}
