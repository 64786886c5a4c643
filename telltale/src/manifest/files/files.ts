import fs, { constants } from 'node:fs';
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
import { err, ok, type Result } from '../../lib/errors.ts';
import { nearest } from '../../lib/nearest.ts';
import { type Diagnostic, type Finding, MANIFEST_LIMITS, quoted } from '../diagnostic.ts';

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
 * Of a file that does not exist: the real path of its deepest folder that does, and the rest. Looked for from the top,
 * so that a path of thousands of folders that are not there costs one look more than those that are.
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
    // The path may have become a pipe since: opened without blocking, and looked at again.
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

/** Reads to the end, not to the size that was promised: a file may grow, and some that lie say 0. */
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
 * Sorted, so that the order of imports is the same on every machine. The walk ends as soon as it has come across
 * `walkEntries` entries, whatever the pattern: `**` in a home folder is an error, not a wait.
 */
export async function globFiles(
  pattern: string,
  folder: string,
  signal?: AbortSignal,
  limits: GlobLimits = MANIFEST_LIMITS,
): Promise<Result<readonly string[], GlobProblem>> {
  signal?.throwIfAborted();
  // Not before a pattern is met: with what it brings it takes as long to load as forty modules of ours.
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

/** Why a file cannot be had. */
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

/** What loading needs of a file system. Paths are absolute. Nothing rejects for what the disk holds. */
export interface Files {
  /** A regular file's bytes; never more than `maxBytes`, looked at before reading. Never waits on a pipe or device. */
  read(path: string, maxBytes: number): Promise<Result<Uint8Array, FileProblem>>;
  /** The path with links resolved; the path itself where that is impossible. */
  realPath(path: string): Promise<string>;
  exists(path: string): Promise<boolean>;
  /** Regular files below `folder` that match, sorted, absolute. Symbolic links are not followed. */
  glob(
    pattern: string,
    folder: string,
    signal?: AbortSignal,
  ): Promise<Result<readonly string[], GlobProblem>>;
}

/**
 * Makes a folder, with those it lies in. Not mkdir's own `recursive`: in a folder that refuses every new one with ENOENT
 * (/proc), that never returns, and keeps a core busy.
 */
export async function makeFolder(folder: string): Promise<void> {
  const found = await stat(folder).catch(noneIfMissing);
  if (found?.isDirectory()) return;
  if (found === undefined && dirname(folder) !== folder) await makeFolder(dirname(folder));
  await mkdir(folder).catch(async (thrown: unknown) => {
    // Somebody else may have made it meanwhile.
    if (!(await stat(folder).catch(noneIfMissing))?.isDirectory()) throw thrown;
  });
}

function noneIfMissing(thrown: NodeJS.ErrnoException): undefined {
  if (thrown.code !== 'ENOENT') throw thrown;
}

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

const error = (code: string, message: string, hint: string): Finding => ({
  severity: 'error',
  code,
  message,
  hint,
});

/** A finding about a file as a whole, or about one that could not be read. */
export const fileDiagnostic = (file: string, { severity, code, message, hint }: Finding): Diagnostic => ({
  severity,
  code,
  file,
  message,
  ...(hint === undefined ? {} : { hint }),
});

/** Why a file could not be read, in words. `path` is as the user knows it. */
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
