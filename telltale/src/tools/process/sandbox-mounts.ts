import { type Dirent, lstatSync, mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { basename, delimiter, dirname, join } from 'node:path';
import { RuntimeError } from '../../lib/errors.ts';
import { isInside, MANIFEST_FILE } from '../../manifest/files.ts';
import { levelsOf } from '../access/agent-files.ts';
import { type ClosedPlaces, CODE_FILE } from '../access/closed-locations.ts';
import type { WritablePlaces } from './command-request.ts';

/** A place that commands are kept away from. */
export interface Mask {
  readonly path: string;
  readonly type: 'folder' | 'file';
  /** Whether it stays hidden whatever is approved. */
  readonly stays?: true;
}

/** What a sandbox shows; all paths absolute, links resolved. */
export interface View extends ClosedView {
  /** To be read and written. */
  readonly roots: readonly string[];
  /** Empty but for what else is named: home directories, temporary folders. */
  readonly hidden: readonly string[];
  /** To be read, also where it is hidden. */
  readonly readable: readonly string[];
  readonly masks: readonly Mask[];
  /** Copies that are shown in place of files, read only. */
  readonly pinned?: readonly { readonly path: string; readonly copy: string }[];
  /** The folder of the command's network, and a file that stands for `/etc/hosts`. */
  readonly network: { readonly folder: string; readonly hosts: string | undefined } | undefined;
}

/**
 * What the system makes up anew for each sandbox. `/proc` is for reading only: root needs no capability to change the
 * kernel's settings there, and some of them name a program that the kernel runs outside of every sandbox.
 */
export const SYSTEM_MOUNTS: readonly string[] = ['--dev', '/dev', '--proc', '/proc', '--remount-ro', '/proc'];

/** The sandbox has its own of these. A bind of the real one, as a folder above a project in `/dev/shm`, would cover it. */
const isSystem = (folder: string) => SYSTEM_MOUNTS.includes(folder);

/** The options of bubblewrap for a view; later ones lie over earlier ones. Pure. */
export function mountArguments(view: View): readonly string[] {
  const { roots, hidden, readable, closed, steady, masks, pinned = [], network } = view;
  const inRoots = (path: string) => roots.some((root) => isInside(path, root));
  const inHidden = (path: string) => hidden.some((folder) => isInside(path, folder));
  const emptied = outermostFirst(hidden).filter((folder) => folder !== '/' && !inRoots(folder));
  const shown = outermostFirst(readable).filter((path) => inHidden(path) && !inRoots(path));
  const folders = outermostFirst(masks.flatMap(({ path, type }) => (type === 'folder' ? [path] : [])));
  const files = masks.flatMap(({ path, type }) => (type === 'file' ? [path] : []));
  const guarded = [...closed, ...steady.map(({ path }) => path), ...masks.map(({ path }) => path)];
  const held = guarded.flatMap((path) => foldersAbove(path, roots)).filter((folder) => !isSystem(folder));
  const inClosed = (path: string) => closed.some((each) => isInside(path, each));
  const modes = new Map<string, '--bind-try' | '--ro-bind-try'>();
  for (const path of [...held, ...steady.flatMap(({ open }) => open)])
    if (!inClosed(path)) modes.set(path, '--bind-try');
  for (const path of [...steady.map((each) => each.path), ...closed]) modes.set(path, '--ro-bind-try');
  return [
    ...emptied.flatMap((folder) => ['--tmpfs', folder]),
    ...shown.flatMap((path) => ['--ro-bind-try', path, path]),
    ...outermostFirst(roots).flatMap((root) => ['--bind-try', root, root]),
    // Over a root that is everything: other processes stay unseen, and devices stay devices.
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
 * The folders between a mask and the root that it lies in. What is mounted cannot be renamed: else a command would give
 * one of them another name, and the next command would find nothing masked in it.
 */
function foldersAbove(path: string, roots: readonly string[]): readonly string[] {
  const folders: string[] = [];
  for (let at = dirname(path); roots.some((root) => root !== at && isInside(at, root)); at = dirname(at))
    folders.push(at);
  return folders;
}

const outermostFirst = (paths: readonly string[]): readonly string[] =>
  [...new Set(paths)].sort((a, b) => a.length - b.length);

/** Folders of programs whose parent holds what the programs consist of; the parent of these holds more than that. */
const PROGRAM_FOLDERS: ReadonlySet<string> = new Set(['bin', '.bin', 'sbin', 'shims']);
const PERSONAL: ReadonlySet<string> = new Set(['.local', '.cargo']);

/** What has to be read to run the programs of a folder: `~/.nvm/versions/node/v24` for its `bin`. */
export function programFolder(folder: string, homes: readonly string[]): string {
  const parent = dirname(folder);
  const isWhole =
    PROGRAM_FOLDERS.has(basename(folder)) && !homes.includes(parent) && !PERSONAL.has(basename(parent));
  return isWhole && parent !== '/' ? parent : folder;
}

export const pathFolders = (path: string | undefined): readonly string[] =>
  (path ?? '').split(delimiter).filter((folder) => folder.startsWith('/'));

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
const isGitFolder = (path: string): Promise<boolean> =>
  lstat(join(path, 'HEAD')).then(
    () => true,
    () => false,
  );
