import fs, { constants, type Dirent } from 'node:fs';
import {
  access,
  type FileHandle,
  mkdir,
  open,
  readdir,
  realpath,
  type stat as Stat,
  stat,
} from 'node:fs/promises';
import { basename, dirname, join, parse, relative, sep } from 'node:path';
import { err, ok, type Result } from '../lib/errors.ts';
import { nearest } from '../lib/nearest.ts';
import { type Diagnostic, type Finding, MANIFEST_LIMITS, quoted } from './diagnostic.ts';

type Stats = Awaited<ReturnType<typeof Stat>>;

/** The machine's own file system. */
export function createNodeFiles(): Files {
  return {
    read: readRegularFile,
    realPath,
    exists: (path) =>
      access(path).then(
        () => true,
        () => false,
      ),
    glob: globFiles,
  };
}

/**
 * The real path of a file that may not exist: that of its deepest existing folder, plus the rest. It searches from the
 * top, so a path with thousands of missing folders costs only one lookup more than the existing ones.
 */
async function realPath(path: string): Promise<string> {
  const whole = await realpath(path).catch(() => undefined);
  if (whole !== undefined) return whole;
  const { root } = parse(path);
  const segments = path.slice(root.length).split(sep);
  let real = root;
  for (const [index, segment] of segments.entries()) {
    const next = await realpath(join(real, segment)).catch(() => undefined);
    if (next === undefined) return join(real, segments.slice(index).join(sep));
    real = next;
  }
  return real;
}

async function readRegularFile(path: string, maxBytes: number): Promise<Result<Uint8Array, FileProblem>> {
  let handle: FileHandle | undefined;
  try {
    const before = refusal(await stat(path), maxBytes);
    if (before !== undefined) return err(before);
    // The path may have become a pipe in the meantime, so it is opened without blocking and checked again.
    handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    const opened = refusal(await handle.stat(), maxBytes);
    if (opened !== undefined) return err(opened);
    return await readUpTo(handle, maxBytes);
  } catch (thrown) {
    return err(await problemOf(thrown as NodeJS.ErrnoException, path));
  } finally {
    await handle?.close();
  }
}

function refusal(stats: Stats, maxBytes: number): FileProblem | undefined {
  if (stats.isDirectory()) return { type: 'folder' };
  if (!stats.isFile()) return { type: 'special', what: specialKind(stats) };
  return stats.size > maxBytes ? { type: 'too_large', bytes: Number(stats.size) } : undefined;
}

function specialKind(stats: Stats): string {
  if (stats.isFIFO()) return 'a named pipe';
  if (stats.isSocket()) return 'a socket';
  return 'a device';
}

/** Reads to the end instead of to the reported size: a file may grow, and some files report 0. */
async function readUpTo(handle: FileHandle, maxBytes: number): Promise<Result<Uint8Array, FileProblem>> {
  const chunks: Uint8Array[] = [];
  let total = 0;
  for (;;) {
    const { bytesRead, buffer } = await handle.read(new Uint8Array(64 * 1024), 0, 64 * 1024, null);
    if (bytesRead === 0) return ok(Buffer.concat(chunks));
    total += bytesRead;
    if (total > maxBytes) return err({ type: 'too_large', bytes: total });
    chunks.push(buffer.subarray(0, bytesRead));
  }
}

async function problemOf({ code, message }: NodeJS.ErrnoException, path: string): Promise<FileProblem> {
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return { type: 'missing', siblings: await readdir(dirname(path)).catch(() => undefined) };
    case 'EACCES':
    case 'EPERM':
      return { type: 'denied' };
    case 'ELOOP':
      return { type: 'link_loop' };
    case 'EISDIR':
      return { type: 'folder' };
    case 'ENXIO':
      return { type: 'special', what: `a pipe or a device (${basename(path)})` };
    default:
      return { type: 'unreadable', reason: code === undefined ? message : code };
  }
}

interface GlobLimits {
  readonly walkEntries: number;
  readonly globMatches: number;
}

const IGNORED = ['**/node_modules/**', '**/.git/**'];

/**
 * Sorted, so that the order of imports is the same on every machine. Whatever the pattern, the walk stops after
 * `walkEntries` entries: `**` in a home folder is an error, not a long wait.
 */
export async function globFiles(
  pattern: string,
  folder: string,
  signal?: AbortSignal,
  limits: GlobLimits = MANIFEST_LIMITS,
): Promise<Result<readonly string[], GlobProblem>> {
  signal?.throwIfAborted();
  // Imported only when a glob needs it, because it loads as slowly as forty of our modules.
  const { glob } = await import('tinyglobby');
  const tooMany = new AbortController();
  let seen = 0;
  const readdir = ((path: string, options: { withFileTypes: true }, done: ReaddirCallback) =>
    fs.readdir(path, options, (error, entries) => {
      seen += entries?.length ?? 0;
      if (seen > limits.walkEntries) tooMany.abort();
      done(error, entries);
    })) as unknown as typeof fs.readdir;
  try {
    const matches = await glob(pattern, {
      cwd: folder,
      absolute: true,
      onlyFiles: true,
      expandDirectories: false,
      followSymbolicLinks: false,
      ignore: IGNORED,
      deep: MANIFEST_LIMITS.walkDepth,
      fs: { readdir },
      signal: signal === undefined ? tooMany.signal : AbortSignal.any([signal, tooMany.signal]),
    });
    if (tooMany.signal.aborted) return err({ type: 'too_many', limit: limits.walkEntries });
    if (matches.length > limits.globMatches) return err({ type: 'too_many', limit: limits.globMatches });
    return ok(matches.sort());
  } catch (thrown) {
    if (tooMany.signal.aborted) return err({ type: 'too_many', limit: limits.walkEntries });
    signal?.throwIfAborted();
    return err({ type: 'unreadable', reason: thrown instanceof Error ? thrown.message : String(thrown) });
  }
}

type ReaddirCallback = (error: NodeJS.ErrnoException | null, entries: fs.Dirent[]) => void;

/** Why a file cannot be read. */
export type FileProblem =
  | {
      readonly type: 'missing' /** Names in its folder; undefined where the folder itself is missing. */;
      readonly siblings: readonly string[] | undefined;
    }
  | { readonly type: 'denied' }
  | { readonly type: 'folder' }
  | { readonly type: 'special'; readonly what: string }
  | { readonly type: 'too_large'; readonly bytes: number }
  | { readonly type: 'link_loop' }
  | { readonly type: 'unreadable'; readonly reason: string };

export type GlobProblem =
  | { readonly type: 'too_many'; readonly limit: number }
  | { readonly type: 'unreadable'; readonly reason: string };

/** The file system that loading needs. Paths are absolute. No method rejects because of what is on the disk. */
export interface Files {
  /**
   * The bytes of a regular file, at most `maxBytes`. The size is checked before reading. It never blocks on a pipe or
   * device.
   */
  read(path: string, maxBytes: number): Promise<Result<Uint8Array, FileProblem>>;
  /** The path with links resolved, or the path itself if that is impossible. */
  realPath(path: string): Promise<string>;
  exists(path: string): Promise<boolean>;
  /** The matching regular files below `folder`, sorted and absolute. Symbolic links are not followed. */
  glob(
    pattern: string,
    folder: string,
    signal?: AbortSignal,
  ): Promise<Result<readonly string[], GlobProblem>>;
}

/**
 * Creates a folder and its parents. mkdir's own `recursive` never returns in a folder that refuses every new one with
 * ENOENT, such as /proc.
 */
export async function makeFolder(folder: string): Promise<void> {
  const found = await stat(folder).catch(noneIfMissing);
  if (found?.isDirectory()) return;
  if (found === undefined && dirname(folder) !== folder) await makeFolder(dirname(folder));
  await mkdir(folder).catch(async (thrown: unknown) => {
    // Another process may have created it in the meantime.
    if (!(await stat(folder).catch(noneIfMissing))?.isDirectory()) throw thrown;
  });
}

function noneIfMissing(thrown: NodeJS.ErrnoException): undefined {
  if (thrown.code !== 'ENOENT') throw thrown;
}

const MARKERS = ['telltale.yml', 'telltale.yaml', 'package.json', '.git'];
const MAX_LEVELS = 64;

/** The nearest folder, starting at `folder` and going up, that contains a file which marks a project. */
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

/** Whether a path is a folder or inside it. Both must be absolute, and have links resolved if that matters. */
export function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return (
    way === '' ||
    (way !== '..' && !way.startsWith(`..${sep}`) && !way.startsWith(sep) && !/^[A-Za-z]:/.test(way))
  );
}

const error = (code: string, message: string, hint: string): Finding => ({
  severity: 'error',
  code,
  message,
  hint,
});

/** A diagnostic about a whole file, or about one that could not be read. */
export const fileDiagnostic = (file: string, { severity, code, message, hint }: Finding): Diagnostic => ({
  severity,
  code,
  file,
  message,
  ...(hint === undefined ? {} : { hint }),
});

/** Explains why a file could not be read. `path` is the path as the user knows it. */
export function fileFinding(problem: FileProblem, path: string): Finding {
  const name = quoted(path);
  switch (problem.type) {
    case 'missing': {
      if (problem.siblings === undefined)
        return error(
          'file_missing',
          `There is no folder for ${name}.`,
          'Check the path. It is relative to the file that names it.',
        );
      const base = path.split('/').at(-1) ?? path;
      const near = nearest(base, problem.siblings);
      return error(
        'file_missing',
        `There is no file ${name}.`,
        near === undefined
          ? 'Create it, or correct the path.'
          : `Did you mean ${quoted(path.slice(0, path.length - base.length) + near)}?`,
      );
    }
    case 'denied':
      return error(
        'file_denied',
        `${name} cannot be read: permission denied.`,
        'Check the permissions of the file and of its folders.',
      );
    case 'folder':
      return error(
        'not_a_file',
        `${name} is a folder.`,
        `Name a file, or a glob: ${quoted(`${path.replace(/\/$/, '')}/*.yml`)}.`,
      );
    case 'special':
      return error(
        'not_a_file',
        `${name} is ${problem.what}, not a file.`,
        'Name a regular file; "-" reads standard input.',
      );
    case 'too_large':
      return error(
        'file_too_large',
        `${name} has ${problem.bytes.toLocaleString('en')} bytes; a manifest has at most ${MANIFEST_LIMITS.fileBytes.toLocaleString('en')}.`,
        'Split it into several files and import them. Is this file a manifest?',
      );
    case 'link_loop':
      return error(
        'link_loop',
        `${name} is a symbolic link that leads back to itself.`,
        'Replace the link with the file.',
      );
    case 'unreadable':
      return error(
        'file_unreadable',
        `${name} cannot be read (${problem.reason}).`,
        'Check the disk and the path.',
      );
  }
}

const SKIPPED: ReadonlySet<string> = new Set(['node_modules']);
/** The file names that a scan examines. */
export const MANIFEST_FILE = /\.(?:ya?ml|json)$/i;
const AGENT = /^(?:---[ \t]+)?["']?kind["']?[ \t]*:[ \t]*["']?Agent\b|"kind"\s*:\s*"Agent"/m;

/** Whether the text of such a file contains an agent. */
export const looksLikeAgent = (text: string): boolean => AGENT.test(text);

export interface WalkFolderWalked {
  /** YAML and JSON files, absolute, sorted folder by folder. */
  readonly files: readonly string[];
  /** Whether the walk stopped at its limit. */
  readonly cut: boolean;
  /** Folders that could not be read. */
  readonly denied: readonly string[];
}

/** A folder that has not been read yet. */
interface WalkFolderWaiting {
  readonly path: string;
  readonly depth: number;
  /** Its share of the walk: that of its parent folder, divided by the number of entries there. */
  readonly share: number;
}

/**
 * The YAML and JSON files below a folder, without node_modules, names that start with a dot, and symbolic links. A
 * folder with few siblings comes first, so a folder full of files, which an agent may have created, cannot hide the
 * others.
 */
export async function walkFolder(
  folder: string,
  signal?: AbortSignal,
  limit: number = MANIFEST_LIMITS.walkEntries,
): Promise<WalkFolderWalked> {
  const found: { readonly path: string; readonly files: readonly string[] }[] = [];
  const denied: string[] = [];
  let waiting: readonly WalkFolderWaiting[] = [{ path: folder, depth: 0, share: 1 }];
  let left = limit;
  let cut = false;
  while (waiting.length > 0) {
    const least = waiting.reduce((most, { share }) => Math.max(most, share), 0) / 2;
    const next = waiting.filter(({ share }) => share > least);
    const later: WalkFolderWaiting[] = waiting.filter(({ share }) => share <= least);
    for (const { path, depth, share } of next) {
      signal?.throwIfAborted();
      const entries: Dirent[] | undefined = await readdir(path, { withFileTypes: true }).catch(
        () => undefined,
      );
      if (entries === undefined) {
        denied.push(path);
        continue;
      }
      if (entries.length > left) {
        cut = true;
        continue;
      }
      left -= entries.length;
      const shown = entries.filter(({ name }) => !name.startsWith('.') && !SKIPPED.has(name));
      const files = shown.filter((entry) => entry.isFile() && MANIFEST_FILE.test(entry.name));
      found.push({ path, files: files.map(({ name }) => name).sort() });
      if (depth === MANIFEST_LIMITS.walkDepth) continue;
      for (const entry of shown)
        if (entry.isDirectory())
          later.push({ path: join(path, entry.name), depth: depth + 1, share: share / entries.length });
    }
    waiting = later;
  }
  found.sort((one, other) => compareFolders(one.path, other.path));
  const files = found.flatMap(({ path, files: names }) => names.map((name) => join(path, name)));
  return { files, cut, denied };
}

/** Orders a folder before the folders in it, and those by name. */
function compareFolders(one: string, other: string): number {
  const [left, right] = [one.split(sep), other.split(sep)];
  const at = left.findIndex((name, index) => name !== right[index]);
  if (at === -1) return left.length - right.length;
  const [name = '', against] = [left[at], right[at]];
  return against === undefined || name > against ? 1 : -1;
}
