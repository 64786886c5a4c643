import fs from 'node:fs';
import { err, ok, type Result } from '../../kernel/result.ts';
import { MANIFEST_LIMITS } from '../limits.ts';
import type { GlobProblem } from './files.ts';

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
