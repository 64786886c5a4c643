import { lstatSync, mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { isInside } from '../../manifest/files/project-root.ts';

/**
 * What in the folder of a repository names programs: settings, and files that lead to other settings. A person who runs
 * git there, or an editor, runs them outside the sandbox. Each has what stands there while a command runs, where git has
 * none: a sandbox can only mount over what exists. It means nothing to git, also when a killed runtime leaves it.
 */
const SETTINGS: readonly { readonly name: string; readonly stand?: string; readonly isFolder?: true }[] = [
  { name: 'config' },
  { name: 'config.worktree', stand: '' },
  { name: 'commondir', stand: '.\n' },
  { name: 'hooks', isFolder: true },
];
const MAX_FOLDERS = 200;

/** How many commands need what stands at a path. */
const held = new Map<string, number>();

export interface HeldSettings {
  /** To be read, and not written. All of them exist. */
  readonly closed: readonly string[];
  release(): void;
}

/** Keeps the settings of these repositories, their worktrees and submodules, where commands may write. */
export async function holdGitSettings(
  paths: readonly string[],
  roots: readonly string[],
): Promise<HeldSettings> {
  const closed: string[] = [];
  const standing: string[] = [];
  const release = () => {
    for (const path of standing.splice(0)) leave(path);
  };
  try {
    for (const path of new Set(paths.filter((each) => basename(each) === '.git')))
      for (const folder of await foldersOf(path))
        for (const { name, stand, isFolder } of SETTINGS) {
          const setting = join(folder, name);
          if (!roots.some((root) => isInside(setting, root))) continue;
          if ((isFolder === true || stand !== undefined) && take(setting, stand)) standing.push(setting);
          const stats = await lstat(setting).catch(() => undefined);
          if (stats !== undefined && !stats.isSymbolicLink()) closed.push(setting);
        }
    return { closed, release };
  } catch (thrown) {
    release();
    throw thrown;
  }
}

/**
 * Whether this command has to take it away again. Without the right to write there, a command has none either.
 * Synchronous, so that commands of this process count one after the other.
 */
function take(path: string, stand: string | undefined): boolean {
  const count = held.get(path) ?? 0;
  if (count === 0 && !isMade(path, stand) && !isStandIn(path)) return false;
  held.set(path, count + 1);
  return true;
}

function isMade(path: string, stand: string | undefined): boolean {
  try {
    if (stand === undefined) mkdirSync(path);
    else writeFileSync(path, stand, { flag: 'wx' });
    return true;
  } catch {
    return false; // it is there already, or nobody can make it
  }
}

function leave(path: string): void {
  const count = (held.get(path) ?? 1) - 1;
  if (count > 0) {
    held.set(path, count);
    return;
  }
  held.delete(path);
  try {
    // What a person has put there meanwhile stays.
    if (basename(path) === 'hooks') rmdirSync(path);
    else if (isStandIn(path)) rmSync(path, { force: true });
  } catch (thrown) {
    if (!(thrown instanceof Error && 'code' in thrown)) throw thrown;
  }
}

/** Whether it is ours, perhaps of a runtime that was killed. */
function isStandIn(path: string): boolean {
  const stand = SETTINGS.find(({ name }) => name === basename(path))?.stand;
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stand === undefined || stats?.isFile() !== true || stats.size !== stand.length) return false;
  return readFileSync(path, 'utf8') === stand;
}

/** The folder of a repository, and those of its worktrees and submodules. */
async function foldersOf(git: string): Promise<readonly string[]> {
  if (!(await isGitFolder(git))) return [];
  const found = [git];
  const waiting = [join(git, 'worktrees'), join(git, 'modules')];
  for (let at = waiting.pop(); at !== undefined && found.length < MAX_FOLDERS; at = waiting.pop())
    for (const entry of await readdir(at, { withFileTypes: true }).catch(() => [])) {
      if (!entry.isDirectory()) continue;
      const path = join(at, entry.name);
      if (await isGitFolder(path)) {
        found.push(path);
        waiting.push(join(path, 'modules'));
      } else waiting.push(path); // the name of a submodule may have slashes
    }
  return found;
}

/** Whether a folder is what git works in, and not one that a command could turn into that. */
export const isGitFolder = (path: string): Promise<boolean> =>
  lstat(join(path, 'HEAD')).then(
    () => true,
    () => false,
  );
