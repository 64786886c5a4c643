import type { Dirent } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isInside } from '../../manifest/files/project-root.ts';
import { MANIFEST_FILE } from '../../manifest/files/walk-folder.ts';
import { levelsOf } from '../access/agent-files.ts';
import { type ClosedPlaces, CODE_FILE } from '../access/closed-locations.ts';
import { isGitFolder } from './git-settings.ts';
import { hardLinksOf } from './hard-links.ts';
import type { WritablePlaces } from './process-request.ts';

/** What of the writable folders a sandbox shows for reading only; all of it exists. */
export interface ClosedView {
  readonly closed: readonly string[];
  /** Folders in which nothing new can be created, and what in them can be written all the same. */
  readonly steady: WritablePlaces['steady'];
}

/** bubblewrap takes 9,000 arguments, three for each of these. What is beyond them is for reading only. */
const MAX_OPEN = 2_000;

/**
 * How a sandbox keeps commands out of the closed places: existing files are for reading only, and so are the folders in
 * which a new file would be loaded. What else is in these folders is made writable again.
 */
export async function closedView(
  { files, trees, programs, folders, globs, code, git }: ClosedPlaces,
  roots: readonly string[],
  agentFolder: string,
): Promise<ClosedView> {
  const inRoots = (path: string) => roots.some((root) => isInside(path, root));
  const deep = globs.flatMap(({ folder, isDeep }) => (isDeep ? [folder] : []));
  const wanted = [...new Set([...files, ...trees, ...programs, ...git, ...deep])].filter(inRoots);
  const closed: string[] = [];
  for (const path of await existing(wanted)) if (!(await isRepository(path))) closed.push(path);
  closed.push(...(await hardLinksOf(closed, roots)));
  const kept = new Set(closed);
  const inCode = (folder: string, name: string) => CODE_FILE.test(name) && codeFolders.has(folder);
  const codeFolders = new Set([...code, ...globs.map((glob) => glob.folder)]);
  const steady: WritablePlaces['steady'][number][] = [];
  let left = MAX_OPEN;
  for (const path of new Set([...folders, ...levelsInRoots(agentFolder, roots)])) {
    if (!inRoots(path)) continue;
    const entries = await readdir(path, { withFileTypes: true }).catch(() => undefined); // not there, or a file
    if (entries === undefined) continue;
    const open: string[] = [];
    for (const entry of entries) {
      const child = join(path, entry.name);
      if (kept.has(child) || !canBeOpened(entry) || left === 0) continue;
      // What such a file says is only looked at when it is loaded.
      if (entry.isFile() && (MANIFEST_FILE.test(entry.name) || inCode(path, entry.name))) continue;
      open.push(child);
      left--;
    }
    steady.push({ path, open });
  }
  return { closed, steady };
}

/** A repository is closed only in part: its objects have to be written. A file `.git`, which names one, is closed. */
const isRepository = async (path: string): Promise<boolean> =>
  basename(path) === '.git' && (await isGitFolder(path));

const canBeOpened = (entry: Dirent): boolean => entry.isDirectory() || entry.isFile();

/** Folders above the agent's that it may write: node_modules in them would count. Not the whole system. */
const levelsInRoots = (folder: string, roots: readonly string[]): readonly string[] =>
  levelsOf(folder).filter(
    (level) =>
      dirname(level) !== level && roots.some((root) => dirname(root) !== root && isInside(level, root)),
  );

async function existing(paths: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(paths.map((path) => lstat(path).catch(() => undefined)));
  return paths.filter((_, at) => found[at] !== undefined && found[at]?.isSymbolicLink() !== true);
}
