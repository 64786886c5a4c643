import { dirname, join, relative, sep } from 'node:path';
import type { Files } from './files.ts';

const MARKERS = ['telltale.yml', 'telltale.yaml', 'package.json', '.git'];
const MAX_LEVELS = 64;

/** The nearest folder, from `folder` up, that holds one of the files that mark a project; undefined if none does. */
export async function findProjectRoot(
  folder: string,
  files: Pick<Files, 'exists'>,
): Promise<string | undefined> {
  let at = folder;
  for (let level = 0; level < MAX_LEVELS; level++) {
    for (const marker of MARKERS) if (await files.exists(join(at, marker))) return at;
    const above = dirname(at);
    if (above === at) return undefined;
    at = above;
  }
  return undefined;
}

/** Whether a path is a folder or something below it. Both absolute, with links resolved if that matters. */
export function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return (
    way === '' ||
    (way !== '..' && !way.startsWith(`..${sep}`) && !way.startsWith(sep) && !/^[A-Za-z]:/.test(way))
  );
}
