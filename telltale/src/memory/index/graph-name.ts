import { realpathSync } from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';

const SQLITE = 'sqlite:';

/**
 * What a folder's graph is called in a store. Beside a file it is the way from the file's folder to it, so that a
 * project which is moved with its store keeps its memory; elsewhere the folder's absolute path.
 */
export function graphName(location: string, folder: string): string {
  if (!location.startsWith(SQLITE)) return folder;
  const way = relative(dirname(realPath(location.slice(SQLITE.length))), folder);
  return way === '' ? '.' : way.split(sep).join('/');
}

/** As far as it is there: the file of a store may be made only at the first write. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return dirname(path) === path ? path : join(realPath(dirname(path)), basename(path));
  }
}
