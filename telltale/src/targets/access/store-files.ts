import { basename, dirname, resolve } from 'node:path';

/** The folder that the store has to itself unless it is told otherwise. */
const OWN_FOLDER = '.telltale';

/**
 * Where the store of the runtime lies, absolute. An agent that could write there, or let a command do so, would answer
 * its own reviews.
 */
export function storeFiles(location: string): readonly string[] {
  const path = /^sqlite:(.+)$/.exec(location)?.[1];
  if (path === undefined) return [];
  const file = resolve(path);
  const folder = dirname(file);
  if (basename(folder) === OWN_FOLDER) return [folder];
  return [file, `${file}-wal`, `${file}-shm`, `${file}-journal`];
}
