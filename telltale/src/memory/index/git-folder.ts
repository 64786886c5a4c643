import { readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { folderMissing, folderUnreadable, notAFolder } from '../memory.ts';

/** Where a repository keeps its own things. Read without git, which may not be there and takes milliseconds to start. */
export interface GitFolder {
  /** The folder that has `.git` in it. */
  readonly repository: string;
  /** With its HEAD: of a worktree, one of its own. */
  readonly own: string;
  /** With refs and `info/exclude`, which all worktrees share. */
  readonly common: string;
}

/** Folders above one that are looked at. */
const MAX_ABOVE = 64;

/** Of the repository that `folder` is in; undefined where it is in none. */
export function findGitFolder(folder: string): GitFolder | undefined {
  let at = folder;
  for (let above = 0; above < MAX_ABOVE; above++) {
    const found = gitFolderAt(at);
    if (found !== undefined) return found;
    if (dirname(at) === at) return undefined;
    at = dirname(at);
  }
  return undefined;
}

function gitFolderAt(repository: string): GitFolder | undefined {
  const path = join(repository, '.git');
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats === undefined) return undefined;
    if (stats.isDirectory()) return { repository, own: path, common: path };
    const own = readLine(path)?.match(/^gitdir: (.+)$/)?.[1];
    if (own === undefined) return undefined;
    const ownFolder = resolve(repository, own);
    return {
      repository,
      own: ownFolder,
      common: resolve(ownFolder, readLine(join(ownFolder, 'commondir')) ?? ''),
    };
  } catch {
    return undefined; // It cannot be read: as if it were in none.
  }
}

/** The commit that a folder is at; nothing where there is none. */
export function commitOf(folder: string): { readonly commit?: string } {
  const git = findGitFolder(folder);
  const commit = git === undefined ? undefined : readCommit(git);
  return commit === undefined ? {} : { commit };
}

const COMMIT = /^[0-9a-f]{40,64}$/;
/** A ref that names a ref that names a ref. */
const MAX_REFS = 5;

/** The commit that is checked out; undefined before the first. */
function readCommit({ own, common }: GitFolder): string | undefined {
  let text = readLine(join(own, 'HEAD'));
  for (let refs = 0; refs < MAX_REFS && text !== undefined; refs++) {
    if (COMMIT.test(text)) return text;
    const ref = /^ref: (refs\/[^\0]+)$/.exec(text)?.[1];
    if (ref === undefined || ref.split('/').includes('..')) return undefined;
    text = readLine(join(own, ref)) ?? readLine(join(common, ref)) ?? packedRef(common, ref);
  }
  return undefined;
}

function packedRef(common: string, ref: string): string | undefined {
  const text = readText(join(common, 'packed-refs'));
  const line = text?.split('\n').find((each) => each.endsWith(` ${ref}`));
  return line?.slice(0, -ref.length - 1);
}

const readLine = (path: string): string | undefined => readText(path)?.split('\n')[0]?.trimEnd();

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined; // Not there: the next place is looked at.
  }
}

/** Where a folder really is. */
export function realFolder(given: string): string {
  try {
    const folder = realpathSync(given);
    if (!statSync(folder).isDirectory()) throw notAFolder(given);
    return folder;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT' || code === 'ENOTDIR') throw folderMissing(given);
    throw code === 'not_a_folder' ? error : folderUnreadable(given, error);
  }
}
