import { type Dirent, lstatSync, mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { basename, delimiter, dirname, join } from 'node:path';
import { RuntimeError } from '../../lib/errors.ts';
import { isInside, MANIFEST_FILE } from '../../manifest/files.ts';
import { withParents } from '../access/loaded-code.ts';
import { CODE_FILE, type ProtectedLocations } from '../access/protected-paths.ts';
import type { WritablePaths } from './command-request.ts';

/** A location that is hidden from commands. */
export interface Mask {
  readonly path: string;
  readonly type: 'folder' | 'file';
  /** Whether it stays hidden whatever is approved. */
  readonly isPermanent?: true;
}

/** What a sandbox shows. All paths are absolute, links resolved. */
export interface SandboxView extends ReadOnlyView {
  /** Readable and writable. */
  readonly roots: readonly string[];
  /** Shown as empty, except for what other entries show: home directories, temporary folders. */
  readonly hidden: readonly string[];
  /** Readable, even inside a hidden folder. */
  readonly readable: readonly string[];
  readonly masks: readonly Mask[];
  /** Read-only copies that are shown in place of files. */
  readonly pinned?: readonly { readonly path: string; readonly copy: string }[];
  /** The folder of the command's network, and a file that replaces `/etc/hosts`. */
  readonly network: { readonly folder: string; readonly hosts: string | undefined } | undefined;
}

/**
 * The mounts that are created anew for each sandbox. `/proc` is read-only: root could otherwise change kernel settings
 * there without any capability, and some of them name a program that the kernel runs outside of every sandbox.
 */
export const SYSTEM_MOUNTS: readonly string[] = ['--dev', '/dev', '--proc', '/proc', '--remount-ro', '/proc'];

/**
 * The sandbox has its own versions of these. A bind of the real folder, for example as a parent of a project in
 * `/dev/shm`, would cover them.
 */
const isSystem = (folder: string) => SYSTEM_MOUNTS.includes(folder);

/** The options of bubblewrap for a view. Later mounts cover earlier ones. Pure. */
export function mountArguments(view: SandboxView): readonly string[] {
  const { roots, hidden, readable, readOnly, lockedFolders, masks, pinned = [], network } = view;
  const inRoots = (path: string) => roots.some((root) => isInside(path, root));
  const inHidden = (path: string) => hidden.some((folder) => isInside(path, folder));
  const emptied = outermostFirst(hidden).filter((folder) => folder !== '/' && !inRoots(folder));
  const shown = outermostFirst(readable).filter((path) => inHidden(path) && !inRoots(path));
  const folders = outermostFirst(masks.flatMap(({ path, type }) => (type === 'folder' ? [path] : [])));
  const files = masks.flatMap(({ path, type }) => (type === 'file' ? [path] : []));
  const guarded = [...readOnly, ...lockedFolders.map(({ path }) => path), ...masks.map(({ path }) => path)];
  const held = guarded.flatMap((path) => foldersAbove(path, roots)).filter((folder) => !isSystem(folder));
  const inReadOnly = (path: string) => readOnly.some((each) => isInside(path, each));
  const modes = new Map<string, '--bind-try' | '--ro-bind-try'>();
  for (const path of [...held, ...lockedFolders.flatMap(({ open }) => open)])
    if (!inReadOnly(path)) modes.set(path, '--bind-try');
  for (const path of [...lockedFolders.map((each) => each.path), ...readOnly])
    modes.set(path, '--ro-bind-try');
  return [
    ...emptied.flatMap((folder) => ['--tmpfs', folder]),
    ...shown.flatMap((path) => ['--ro-bind-try', path, path]),
    ...outermostFirst(roots).flatMap((root) => ['--bind-try', root, root]),
    // If the root is the whole disk, mount these again, so that other processes stay invisible and devices stay
    // devices.
    ...(roots.includes('/') ? SYSTEM_MOUNTS : []),
    ...outermostFirst([...modes.keys()]).flatMap((path) => [modes.get(path) ?? '--ro-bind-try', path, path]),
    ...folders.flatMap((folder) => ['--tmpfs', folder, '--remount-ro', folder]),
    ...files.flatMap((file) => ['--ro-bind', '/dev/null', file]),
    ...pinned
      .filter(({ path }) => inRoots(path) && !masks.some((mask) => isInside(path, mask.path)))
      .flatMap(({ path, copy }) => ['--ro-bind', copy, path]),
    ...(network === undefined ? [] : ['--ro-bind', network.folder, network.folder]),
    ...(network?.hosts === undefined ? [] : ['--ro-bind', network.hosts, '/etc/hosts']),
  ];
}

/**
 * The folders between a path and the root that contains it. They are mounted because a mount point cannot be renamed.
 * Otherwise a command could rename one of them, and the next command would find nothing hidden in it.
 */
function foldersAbove(path: string, roots: readonly string[]): readonly string[] {
  const folders: string[] = [];
  for (let at = dirname(path); roots.some((root) => root !== at && isInside(at, root)); at = dirname(at))
    folders.push(at);
  return folders;
}

const outermostFirst = (paths: readonly string[]): readonly string[] =>
  [...new Set(paths)].sort((a, b) => a.length - b.length);

/**
 * Names of program folders whose parent contains the rest of the program. The parents in PERSONAL contain more than
 * that.
 */
const PROGRAM_FOLDERS: ReadonlySet<string> = new Set(['bin', '.bin', 'sbin', 'shims']);
const PERSONAL: ReadonlySet<string> = new Set(['.local', '.cargo']);

/** The folder to show so that the programs in `folder` can run: `~/.nvm/versions/node/v24` for its `bin`. */
export function programFolder(folder: string, homes: readonly string[]): string {
  const parent = dirname(folder);
  const isWhole =
    PROGRAM_FOLDERS.has(basename(folder)) && !homes.includes(parent) && !PERSONAL.has(basename(parent));
  return isWhole && parent !== '/' ? parent : folder;
}

export const pathFolders = (path: string | undefined): readonly string[] =>
  (path ?? '').split(delimiter).filter((folder) => folder.startsWith('/'));

/** The parts of the writable folders that a sandbox shows as read-only. All of them exist. */
export interface ReadOnlyView {
  readonly readOnly: readonly string[];
  /** Folders in which nothing new can be created, and the entries in them that stay writable. */
  readonly lockedFolders: WritablePaths['lockedFolders'];
}

/** bubblewrap accepts 9,000 arguments, and each entry takes three. Entries beyond this limit are read-only. */
const MAX_OPEN = 2_000;

/**
 * Keeps commands out of the protected locations: existing files are read-only, and so are the folders in which a new
 * file would be loaded. Everything else in those folders is made writable again.
 */
export async function readOnlyView(
  { files, trees, programs, folders, globs, code, git }: ProtectedLocations,
  roots: readonly string[],
  agentFolder: string,
): Promise<ReadOnlyView> {
  const inRoots = (path: string) => roots.some((root) => isInside(path, root));
  const deep = globs.flatMap(({ folder, isDeep }) => (isDeep ? [folder] : []));
  const wanted = [...new Set([...files, ...trees, ...programs, ...git, ...deep])].filter(inRoots);
  const readOnly: string[] = [];
  for (const path of await existing(wanted)) if (!(await isRepository(path))) readOnly.push(path);
  readOnly.push(...(await hardLinksOf(readOnly, roots)));
  const kept = new Set(readOnly);
  const inCode = (folder: string, name: string) => CODE_FILE.test(name) && codeFolders.has(folder);
  const codeFolders = new Set([...code, ...globs.map((glob) => glob.folder)]);
  const lockedFolders: WritablePaths['lockedFolders'][number][] = [];
  let left = MAX_OPEN;
  for (const path of new Set([...folders, ...levelsInRoots(agentFolder, roots)])) {
    if (!inRoots(path)) continue;
    // it does not exist, or is a file
    const entries = await readdir(path, { withFileTypes: true }).catch(() => undefined);
    if (entries === undefined) continue;
    const open: string[] = [];
    for (const entry of entries) {
      const child = join(path, entry.name);
      if (kept.has(child) || !canBeOpened(entry) || left === 0) continue;
      // The content of such a file only counts once it is loaded, so it stays read-only.
      if (entry.isFile() && (MANIFEST_FILE.test(entry.name) || inCode(path, entry.name))) continue;
      open.push(child);
      left--;
    }
    lockedFolders.push({ path, open });
  }
  return { readOnly, lockedFolders };
}

/**
 * A repository is only partly read-only, because git must write its objects. A file named `.git`, which points to a
 * repository, is read-only.
 */
const isRepository = async (path: string): Promise<boolean> =>
  basename(path) === '.git' && (await isGitFolder(path));

const canBeOpened = (entry: Dirent): boolean => entry.isDirectory() || entry.isFile();

/** Writable folders above the agent's: a new node_modules in them would be loaded. The root of the disk is excluded. */
const levelsInRoots = (folder: string, roots: readonly string[]): readonly string[] =>
  withParents(folder).filter(
    (level) =>
      dirname(level) !== level && roots.some((root) => dirname(root) !== root && isInside(level, root)),
  );

async function existing(paths: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(paths.map((path) => lstat(path).catch(() => undefined)));
  return paths.filter((_, at) => found[at] !== undefined && found[at]?.isSymbolicLink() !== true);
}

/** The most entries searched for hard links before a command. */
const MAX_SEARCHED = 100_000;
const SKIPPED_FOLDERS: ReadonlySet<string> = new Set(['.git', 'node_modules']);

/**
 * The other names (hard links) of files in these folders. A command could reach the same content through each of them.
 * Throws `not_permitted` if there are too many files to search.
 */
export async function hardLinksOf(
  files: readonly string[],
  folders: readonly string[],
): Promise<readonly string[]> {
  /** For each inode, how many of its names are still unknown. */
  const unknown = new Map<string, { readonly file: string; left: number }>();
  const known = new Set(files);
  for (const file of known) {
    const stats = await lstat(file).catch(() => undefined); // it does not exist
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
    if (seen.add(path).size > MAX_SEARCHED) throw tooMany(sought.file);
    const stats = await lstat(path).catch(() => undefined);
    if (stats?.isDirectory() === true && !SKIPPED_FOLDERS.has(basename(path)))
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
    `Commands cannot be denied access to "${file}": it has other names (hard links), and there are more than ${MAX_SEARCHED} files to search for them.`,
    {
      hint: 'Replace the hard link with a copy, or permit a smaller folder in "permissions: { paths }".',
    },
  );

/**
 * The parts of a repository that can name programs: settings, and files that lead to other settings. A person who runs
 * git there, or an editor, would run those programs outside the sandbox. A missing one gets a placeholder while a
 * command runs, because a sandbox can only mount over files that exist. Placeholders mean nothing to git, so one left
 * by a killed runtime does no harm.
 */
const SETTINGS: readonly { readonly name: string; readonly stand?: string; readonly isFolder?: true }[] = [
  { name: 'config' },
  { name: 'config.worktree', stand: '' },
  { name: 'commondir', stand: '.\n' },
  { name: 'hooks', isFolder: true },
];
const MAX_FOLDERS = 200;

/** How many running commands need the placeholder at a path. */
const placeholderUsers = new Map<string, number>();

export interface GuardedSettings {
  /** Readable but not writable. All of them exist. */
  readonly readOnly: readonly string[];
  release(): void;
}

/** Protects the settings of these repositories, their worktrees and submodules, as far as commands could write them. */
export async function guardGitSettings(
  paths: readonly string[],
  roots: readonly string[],
): Promise<GuardedSettings> {
  const readOnly: string[] = [];
  const standing: string[] = [];
  const release = () => {
    for (const path of standing.splice(0)) releasePlaceholder(path);
  };
  try {
    for (const path of new Set(paths.filter((each) => basename(each) === '.git')))
      for (const folder of await repositoryFolders(path))
        for (const { name, stand, isFolder } of SETTINGS) {
          const setting = join(folder, name);
          if (!roots.some((root) => isInside(setting, root))) continue;
          if ((isFolder === true || stand !== undefined) && acquirePlaceholder(setting, stand))
            standing.push(setting);
          const stats = await lstat(setting).catch(() => undefined);
          if (stats !== undefined && !stats.isSymbolicLink()) readOnly.push(setting);
        }
    return { readOnly, release };
  } catch (thrown) {
    release();
    throw thrown;
  }
}

/**
 * Creates a placeholder, or uses an existing one. Returns whether this command has to remove it again. If this process
 * may not write there, neither may a command. Synchronous, so that commands of this process are counted one after the
 * other.
 */
function acquirePlaceholder(path: string, stand: string | undefined): boolean {
  const count = placeholderUsers.get(path) ?? 0;
  if (count === 0 && !createPlaceholder(path, stand) && !isPlaceholder(path)) return false;
  placeholderUsers.set(path, count + 1);
  return true;
}

function createPlaceholder(path: string, stand: string | undefined): boolean {
  try {
    if (stand === undefined) mkdirSync(path);
    else writeFileSync(path, stand, { flag: 'wx' });
    return true;
  } catch {
    return false; // it exists already, or this user cannot create it
  }
}

function releasePlaceholder(path: string): void {
  const count = (placeholderUsers.get(path) ?? 1) - 1;
  if (count > 0) {
    placeholderUsers.set(path, count);
    return;
  }
  placeholderUsers.delete(path);
  try {
    // A file that a person has created meanwhile stays.
    if (basename(path) === 'hooks') rmdirSync(path);
    else if (isPlaceholder(path)) rmSync(path, { force: true });
  } catch (thrown) {
    if (!(thrown instanceof Error && 'code' in thrown)) throw thrown;
  }
}

/** Whether it is a placeholder, perhaps of a runtime that was killed. */
function isPlaceholder(path: string): boolean {
  const stand = SETTINGS.find(({ name }) => name === basename(path))?.stand;
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stand === undefined || stats?.isFile() !== true || stats.size !== stand.length) return false;
  return readFileSync(path, 'utf8') === stand;
}

/** The folder of a repository, and those of its worktrees and submodules. */
async function repositoryFolders(git: string): Promise<readonly string[]> {
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
      } else waiting.push(path); // the name of a submodule may contain slashes
    }
  return found;
}

/** Whether git works in this folder already. A folder that a command could turn into a repository does not count. */
const isGitFolder = (path: string): Promise<boolean> =>
  lstat(join(path, 'HEAD')).then(
    () => true,
    () => false,
  );
