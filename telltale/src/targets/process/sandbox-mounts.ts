import { basename, delimiter, dirname } from 'node:path';
import { isInside } from '../../manifest/files/project-root.ts';
import type { ClosedView } from './closed-mounts.ts';

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
