import { constants } from 'node:fs';
import { access, type FileHandle, open, readdir, realpath, type stat as Stat, stat } from 'node:fs/promises';
import { basename, dirname, join, parse, sep } from 'node:path';
import { err, ok, type Result } from '../../kernel/result.ts';
import type { FileProblem, Files } from './files.ts';
import { globFiles } from './glob-files.ts';

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
