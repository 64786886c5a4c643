import type { Dirent } from 'node:fs';
import { opendir, realpath } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import { RuntimeError } from '../../../lib/errors.ts';
import type { Json } from '../../../lib/json.ts';
import { globFiles } from '../../../manifest/files.ts';
import type { PermittedPath } from '../../access/permitted-paths.ts';
import { stopped } from '../../stop-and-wait.ts';
import { fileFailed } from './text-file.ts';

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

/** As long as a name can be, and as many folders as a walk goes down. */
const NAME_LENGTH = 255;
const DEPTH = 32;
/** Patterns that one with choices may stand for, those on the way to them among them. */
const MAX_SPELLINGS = 500;
/** Where a choice began and ended: a star before it and one in it are two. */
const SEAM = '\0';

/**
 * In how many ways, at the worst, a glob may be tried on one path before it is certain that it does not match: globs
 * become regular expressions that backtrack, and `*a*a*a*c` on a name of 255 letters takes half a second, one star more
 * a minute, in which nothing else happens. 200,000 ways are about a tenth of a second.
 */
function globCost(pattern: string): number {
  const waiting = [pattern.replaceAll(REPEATED_CHARACTER, ']+')];
  let ways = 0;
  let spellings = 0;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (REPEATED_GROUP.test(next)) return Number.POSITIVE_INFINITY;
    const choice = CHOICE_WITH_STARS.exec(next);
    if (choice === null) ways += waysOf(next);
    else {
      // One after the other is tried, so that they add up.
      const [before, behind] = [next.slice(0, choice.index), next.slice(choice.index + choice[0].length)];
      const all = (choice[1] ?? '').split(/[,|]/);
      spellings += all.length;
      if (spellings > MAX_SPELLINGS) return Number.POSITIVE_INFINITY;
      for (const each of all) waiting.push(`${before}${SEAM}${each}${SEAM}${behind}`);
    }
  }
  return ways;
}

/** What may match any number of characters of a name: one of these alone is tried once at each place. */
const STARS = /\*+|\]\+|!\(/g;
/** Each of its choices may be tried. */
const GROUPS = /[{(]/g;
const CHOICE_WITH_STARS = /(?:\{|@\(|(?<![!?+*@])\()([^{}()]*\*[^{}()]*)[})]/;
const CHOICE_OF_WORDS = /^\{([\w., -]+)\}$/;
/** One character that may come again is a star. */
const REPEATED_CHARACTER = /[+*]\((?:\w|\[(?:\[:\w+:\]|[^[\]/])+\])\)/g;
/** A group that may come again, in which anything may be split in any way. */
const REPEATED_GROUP = /[+*]\(|[)}]\+/;

function waysOf(pattern: string): number {
  const names = pattern.split('/').map((name) => (name.replaceAll(SEAM, '') === '**' ? '**' : name));
  const folders = names.filter((name) => name === '**').length;
  let groups = count(pattern, GROUPS);
  let pieces = 0;
  let ways = choices(DEPTH, Math.max(0, folders - 1));
  for (const name of names) {
    if (name === '**') continue;
    for (const piece of name.split(STARS).slice(1, -1)) {
      const words = CHOICE_OF_WORDS.exec(piece)?.[1]?.split(',');
      if (words !== undefined) groups--;
      pieces++;
      ways *= (words ?? [piece]).reduce((sum, word) => sum + placesOf(word), 0) / pieces;
    }
  }
  return ways * 2 ** groups;
}

/** At how many places of a name what stands between two stars may be found: `aa` at each, `user` at every fourth. */
function placesOf(text: string): number {
  const piece = text.replaceAll(SEAM, '');
  if (!/^[\w., -]+$/.test(piece)) return NAME_LENGTH;
  if (piece.length > NAME_LENGTH) return 1;
  let period = 1;
  while (!piece.startsWith(piece.slice(period))) period++;
  return Math.max(1, NAME_LENGTH / period);
}

const count = (text: string, what: RegExp): number => text.match(what)?.length ?? 0;

/** About how many ways there are to choose `some` of `all`. */
function choices(all: number, some: number): number {
  let ways = 1;
  for (let n = 1; n <= some; n++) ways *= all / n;
  return ways;
}

/** Folders that nobody wants to read through. */
const SKIPPED_FOLDERS: ReadonlySet<string> = new Set(['.git', 'node_modules']);
/** Entries that one call comes across. */
export const MAX_WALKED = 100_000;

export interface GlobPathsWalked {
  readonly real: string;
  /** As results name it. */
  readonly shown: string;
  readonly name: string;
  readonly type: 'file' | 'folder' | 'link' | 'other';
  readonly depth: number;
}

/**
 * What is below a folder, in order, folders before what is in them. Links are named and never followed, so the walk
 * stays inside and ends; what may not be touched is left out.
 */
export async function* walk(
  folder: PermittedPath,
  { maxDepth, signal }: { readonly maxDepth: number; readonly signal: AbortSignal },
): AsyncGenerator<GlobPathsWalked> {
  const waiting: GlobPathsWalked[] = await entriesOf(folder, 1);
  while (true) {
    const next = waiting.pop();
    if (next === undefined) return;
    if (signal.aborted) throw stopped('tool "filesystem"', signal);
    if (!folder.covers(next.real)) continue;
    yield next;
    if (next.type !== 'folder' || next.depth >= maxDepth || SKIPPED_FOLDERS.has(next.name)) continue;
    // A folder that may not be read, or has gone, is one that shows nothing.
    waiting.push(...(await entriesOf(next, next.depth + 1).catch(() => [])));
  }
}

/** In reverse order: the walk takes them from the end. */
async function entriesOf(
  { real, shown }: { readonly real: string; readonly shown: string },
  depth: number,
): Promise<GlobPathsWalked[]> {
  const entries: Dirent[] = [];
  try {
    for await (const entry of await opendir(real)) {
      if (entries.length === MAX_WALKED) break;
      entries.push(entry);
    }
  } catch (thrown) {
    throw fileFailed(shown, thrown);
  }
  entries.sort((a, b) => (a.name < b.name ? 1 : -1));
  return entries.map((entry) => ({
    real: join(real, entry.name),
    shown: shown === '.' ? entry.name : `${shown}/${entry.name}`,
    name: entry.name,
    type: typeOf(entry),
    depth,
  }));
}

function typeOf(entry: Dirent): GlobPathsWalked['type'] {
  if (entry.isSymbolicLink()) return 'link';
  if (entry.isDirectory()) return 'folder';
  return entry.isFile() ? 'file' : 'other';
}
