import { realpath } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import type { Json } from '../../../kernel/json.ts';
import { RuntimeError } from '../../../kernel/runtime-error.ts';
import { globFiles } from '../../../manifest/files/glob-files.ts';
import type { PermittedPath } from '../../access/permitted-paths.ts';
import { stopped } from '../../access/stopped.ts';
import { globCost } from './glob-cost.ts';
import { MAX_WALKED } from './walk.ts';

const MAX_MATCHES = 1_000;
/** Files that may match before the pattern counts as too wide. */
const MAX_FOUND = 20_000;
/** Ways to try a pattern on one path. */
const MAX_COST = 200_000;

/**
 * Absolute paths of files below a folder that match and may be touched, as the pattern comes to them. `..` and absolute
 * patterns would lead out, so they are refused; a folder that a pattern names may be a link that does.
 */
export async function filesMatching(
  pattern: string,
  { real, shown, covers }: PermittedPath,
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (/^[/\\]|^[A-Za-z]:|(?:^|[/\\{,(|])\.\.(?:[/\\},)|]|$)/.test(pattern)) throw leadsOut(pattern);
  if (globCost(pattern) > MAX_COST) throw tooManyWildcards(pattern);
  const limits = { walkEntries: MAX_WALKED, globMatches: MAX_FOUND };
  const found = await globFiles(pattern, real, signal, limits).catch((thrown: unknown) => {
    throw signal.aborted ? stopped('tool "filesystem"', signal) : thrown;
  });
  if (found.ok) return coveredOf(found.value, covers);
  throw globFailed(
    pattern,
    shown,
    found.error.type === 'too_many' ? `more than ${found.error.limit} entries` : found.error.reason,
  );
}

/** Those that may be touched where they really lie. No link is a match itself: only folders have to be followed. */
async function coveredOf(
  files: readonly string[],
  covers: PermittedPath['covers'],
): Promise<readonly string[]> {
  const folders = new Map<string, string | undefined>();
  const covered: string[] = [];
  for (const file of files) {
    const folder = dirname(file);
    if (!folders.has(folder)) folders.set(folder, await realpath(folder).catch(() => undefined));
    const real = folders.get(folder);
    if (real !== undefined && covers(join(real, basename(file)))) covered.push(file);
  }
  return covered;
}

export async function globPaths(pattern: string, folder: PermittedPath, signal: AbortSignal): Promise<Json> {
  const found = await filesMatching(pattern, folder, signal);
  const paths = found.slice(0, MAX_MATCHES).map((file) => shownBelow(file, folder));
  return { paths, ...(found.length > MAX_MATCHES ? { left_out: found.length - MAX_MATCHES } : {}) };
}

export const shownBelow = (file: string, { real, shown }: PermittedPath): string => {
  const below = relative(real, file).split(sep).join('/');
  return shown === '.' ? below : `${shown}/${below}`;
};

const leadsOut = (pattern: string) =>
  new RuntimeError('not_permitted', `The pattern "${pattern.slice(0, 200)}" leads out of its folder.`, {
    hint: 'Give the folder as "path", and a pattern relative to it.',
  });

const tooManyWildcards = (pattern: string) =>
  new RuntimeError(
    'bad_parameters',
    `The pattern "${pattern.slice(0, 200)}" has too many wildcards, or a group that repeats: it could take hours to match.`,
    {
      hint: 'Write up to three * in one name, or two where ** stands twice, and one in each other name; or find more with a simple pattern, and choose.',
    },
  );

const globFailed = (pattern: string, shown: string, why: string) =>
  new RuntimeError(
    'glob_failed',
    `The pattern "${pattern.slice(0, 200)}" in "${shown}" came across ${why}.`,
    {
      hint: 'Use a narrower pattern, or a folder further down as "path".',
    },
  );
