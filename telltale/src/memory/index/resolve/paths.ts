/** `a/b` of `a/b/c.ts`; `''` of `c.ts`. */
export const folderOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')));

/** Joined and without `.` and `..`; undefined where it leads out of the folder. */
export function joined(...parts: readonly string[]): string | undefined {
  const kept: string[] = [];
  for (const part of parts.join('/').split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') kept.push(part);
    else if (kept.pop() === undefined) return undefined;
  }
  return kept.join('/');
}

/** The folder of a file and those above it, the nearest first, `''` last. */
export function foldersAbove(path: string): readonly string[] {
  const folders: string[] = [];
  for (let at = folderOf(path); at !== ''; at = folderOf(at)) folders.push(at);
  return [...folders, ''];
}

export const isWithin = (path: string, folder: string): boolean =>
  folder === '' || path === folder || path.startsWith(`${folder}/`);
