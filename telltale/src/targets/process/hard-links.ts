import { lstat, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { RuntimeError } from '../../kernel/runtime-error.ts';

/** Entries that are looked at before a command, where a file has other names at all. */
const MAX_LOOKED_AT = 100_000;
const PASSED_OVER: ReadonlySet<string> = new Set(['.git', 'node_modules']);

/**
 * The other names that files have in these folders (hard links): under each of them a command would get at the same
 * content. Throws `not_permitted` where there are too many files to find them.
 */
export async function hardLinksOf(
  files: readonly string[],
  folders: readonly string[],
): Promise<readonly string[]> {
  /** By inode, how many of its names are not known yet. */
  const unknown = new Map<string, { readonly file: string; left: number }>();
  const known = new Set(files);
  for (const file of known) {
    const stats = await lstat(file).catch(() => undefined); // it is not there
    if (stats?.isFile() !== true || stats.nlink < 2) continue;
    const inode = `${stats.dev} ${stats.ino}`;
    const counted = unknown.get(inode) ?? { file, left: stats.nlink };
    counted.left--;
    unknown.set(inode, counted);
  }
  const found: string[] = [];
  const waiting = [...folders];
  const seen = new Set<string>();
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const sought = [...unknown.values()].find(({ left }) => left > 0);
    if (sought === undefined) break;
    if (seen.has(path)) continue;
    if (seen.add(path).size > MAX_LOOKED_AT) throw tooMany(sought.file);
    const stats = await lstat(path).catch(() => undefined);
    if (stats?.isDirectory() === true && !PASSED_OVER.has(basename(path)))
      for (const name of await readdir(path).catch(() => [])) waiting.push(join(path, name));
    const inode = stats?.isFile() === true ? `${stats.dev} ${stats.ino}` : '';
    const same = unknown.get(inode);
    if (same === undefined || known.has(path)) continue;
    found.push(path);
    same.left--;
  }
  return found;
}

const tooMany = (file: string) =>
  new RuntimeError(
    'not_permitted',
    `Commands cannot be kept away from "${file}": it has other names (hard links), and there are more than ${MAX_LOOKED_AT} files in which to find them.`,
    {
      hint: 'Copy the file in place of the hard link, or permit a smaller folder in "permissions: { paths }".',
    },
  );
