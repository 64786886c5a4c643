import { realpathSync } from 'node:fs';
import { isAbsolute, relative, resolve, sep } from 'node:path';

/**
 * A path as the graph has it: relative to the folder, with `/`; undefined for what is outside of it, and `''` for the
 * folder itself. `given` is the folder as it was asked for, which may lead there through a link.
 */
export function graphPath(path: string, folder: string, given: string): string | undefined {
  if (path.includes('\0')) return undefined;
  if (!isAbsolute(path)) return within(resolve(folder, path), folder);
  return within(path, folder) ?? within(path, given) ?? within(realPath(path), folder);
}

function within(path: string, folder: string): string | undefined {
  const way = relative(folder, path);
  if (way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way)) return undefined;
  return way.split(sep).join('/');
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path; // Not there any more: it was what it says.
  }
}
