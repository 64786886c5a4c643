import type { Dirent } from 'node:fs';
import { opendir, realpath } from 'node:fs/promises';
import { basename, dirname, join, relative, sep } from 'node:path';
import { RuntimeError } from '../../../lib/errors.ts';
import type { Json } from '../../../lib/json.ts';
import { globFiles } from '../../../manifest/files.ts';
import { abortError } from '../../abort.ts';
import type { PermittedPath } from '../../access/permitted-paths.ts';
import { fileFailed } from './text-file.ts';

const MAX_MATCHES = 1_000;
/** The most files that may match before the pattern counts as too wide. */
const MAX_FOUND = 20_000;
/** The most ways in which a pattern may be tried on one path. */
const MAX_COST = 200_000;

/**
 * The absolute paths of files below a folder that match and may be used, in the order of the pattern. `..` and absolute
 * patterns are refused because they lead out of the folder. Folders in a pattern may be links, so each match is checked
 * where it really lies.
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
    throw signal.aborted ? abortError('tool "filesystem"', signal) : thrown;
  });
  if (found.ok) return coveredOf(found.value, covers);
  throw globFailed(
    pattern,
    shown,
    found.error.type === 'too_many' ? `more than ${found.error.limit} entries` : found.error.reason,
  );
}

/**
 * Keeps the files that may be used at their real location. A match is never a link itself, so only folders are
 * resolved.
 */
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

/** The longest name of a file, and the deepest folder of a walk. */
const NAME_LENGTH = 255;
const DEPTH = 32;
/** The most patterns that the choices of one pattern may expand to, including intermediate ones. */
const MAX_SPELLINGS = 500;
/** Marks where a choice began and ended, so that a star before it and one inside it count as two. */
const CHOICE_MARK = '\0';

/**
 * The number of ways, at worst, in which a glob is tried on one path before it is clear that it does not match. Globs
 * become backtracking regular expressions: `*a*a*a*c` on a name of 255 letters takes half a second, and one more star
 * takes a minute, while nothing else runs. 200,000 ways take about a tenth of a second.
 */
function globCost(pattern: string): number {
  const waiting = [pattern.replaceAll(REPEATED_CHARACTER, ']+')];
  let ways = 0;
  let spellings = 0;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (REPEATED_GROUP.test(next)) return Number.POSITIVE_INFINITY;
    const choice = CHOICE_WITH_STARS.exec(next);
    if (choice === null) ways += countWays(next);
    else {
      // The choices are tried one after another, so they add up.
      const [before, behind] = [next.slice(0, choice.index), next.slice(choice.index + choice[0].length)];
      const all = (choice[1] ?? '').split(/[,|]/);
      spellings += all.length;
      if (spellings > MAX_SPELLINGS) return Number.POSITIVE_INFINITY;
      for (const each of all) waiting.push(`${before}${CHOICE_MARK}${each}${CHOICE_MARK}${behind}`);
    }
  }
  return ways;
}

/** Parts that match any number of characters of a name. One of them alone is tried once at each position. */
const STARS = /\*+|\]\+|!\(/g;
/** Each choice of a group may be tried. */
const GROUPS = /[{(]/g;
const CHOICE_WITH_STARS = /(?:\{|@\(|(?<![!?+*@])\()([^{}()]*\*[^{}()]*)[})]/;
const CHOICE_OF_WORDS = /^\{([\w., -]+)\}$/;
/** One character that may repeat counts as a star. */
const REPEATED_CHARACTER = /[+*]\((?:\w|\[(?:\[:\w+:\]|[^[\]/])+\])\)/g;
/** A group that may repeat, whose text may be split in any way. */
const REPEATED_GROUP = /[+*]\(|[)}]\+/;

function countWays(pattern: string): number {
  const names = pattern.split('/').map((name) => (name.replaceAll(CHOICE_MARK, '') === '**' ? '**' : name));
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

/** At how many positions of a name the text between two stars may match: `aa` at each, `user` at every fourth. */
function placesOf(text: string): number {
  const piece = text.replaceAll(CHOICE_MARK, '');
  if (!/^[\w., -]+$/.test(piece)) return NAME_LENGTH;
  if (piece.length > NAME_LENGTH) return 1;
  let period = 1;
  while (!piece.startsWith(piece.slice(period))) period++;
  return Math.max(1, NAME_LENGTH / period);
}

const count = (text: string, what: RegExp): number => text.match(what)?.length ?? 0;

/** The approximate number of ways to choose `some` out of `all`. */
function choices(all: number, some: number): number {
  let ways = 1;
  for (let n = 1; n <= some; n++) ways *= all / n;
  return ways;
}

/** Folders whose content is not listed. */
const SKIPPED_FOLDERS: ReadonlySet<string> = new Set(['.git', 'node_modules']);
/** The most entries that one call visits. */
export const MAX_WALKED = 100_000;

export interface WalkEntry {
  readonly real: string;
  /** The path as results show it. */
  readonly shown: string;
  readonly name: string;
  readonly type: 'file' | 'folder' | 'link' | 'other';
  readonly depth: number;
}

/**
 * Walks everything below a folder in order, each folder before its content. Links are listed but never followed, so the
 * walk stays inside and ends. Entries that may not be used are left out.
 */
export async function* walk(
  folder: PermittedPath,
  { maxDepth, signal }: { readonly maxDepth: number; readonly signal: AbortSignal },
): AsyncGenerator<WalkEntry> {
  const waiting: WalkEntry[] = await entriesOf(folder, 1);
  while (true) {
    const next = waiting.pop();
    if (next === undefined) return;
    if (signal.aborted) throw abortError('tool "filesystem"', signal);
    if (!folder.covers(next.real)) continue;
    yield next;
    if (next.type !== 'folder' || next.depth >= maxDepth || SKIPPED_FOLDERS.has(next.name)) continue;
    // A folder that is unreadable or gone counts as empty.
    waiting.push(...(await entriesOf(next, next.depth + 1).catch(() => [])));
  }
}

/** In reverse order, because the walk takes entries from the end. */
async function entriesOf(
  { real, shown }: { readonly real: string; readonly shown: string },
  depth: number,
): Promise<WalkEntry[]> {
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

function typeOf(entry: Dirent): WalkEntry['type'] {
  if (entry.isSymbolicLink()) return 'link';
  if (entry.isDirectory()) return 'folder';
  return entry.isFile() ? 'file' : 'other';
}
