import { relative, sep } from 'node:path';
import { isInside } from '../../../manifest/files/project-root.ts';
import { follow } from '../../access/follow.ts';
import { folded, isPattern, matchesPattern, splitPattern } from '../../access/path-pattern.ts';

/**
 * Pathspecs that leave out of a repository what `guarded` names, absolute: a call that stages a folder, or shows a
 * patch, would else reach files that no call may name. `top` is the top of the repository, links resolved; `cwd`, too,
 * which the call may use: what it lies in was approved.
 */
export async function leftOut(
  guarded: readonly string[],
  { top, cwd }: { readonly top: string; readonly cwd: string },
): Promise<readonly string[]> {
  const specs = await Promise.all(guarded.map((entry) => leftOutOf(entry, top, cwd)));
  return specs.flat();
}

async function leftOutOf(entry: string, top: string, cwd: string): Promise<readonly string[]> {
  const { folder, rest } = isPattern(entry) ? splitPattern(entry) : { folder: entry, rest: [] };
  const start = await follow(folder).then(
    ({ real }) => real,
    () => folder,
  );
  if (rest.length === 0 && isInside(cwd, start)) return [];
  if (isInside(start, top)) {
    const way = segmentsOf(relative(top, start));
    return globs([...way.map(literal), ...rest.map(escaped)]);
  }
  if (!isInside(top, start)) return [];
  const rests = restsBelow(rest, segmentsOf(relative(start, top)));
  return rests.flatMap((below) => globs(below.map(escaped)));
}

/**
 * What may be left of a pattern some folders further down: one reading for each number of them that a double star
 * stands for. Below `one`, of `one/a` wherever it lies, that is `a` and still `one/a` wherever it lies.
 */
function restsBelow(pattern: readonly string[], way: readonly string[]): readonly (readonly string[])[] {
  let reached = new Set([0]);
  for (const segment of way) {
    const next = new Set<number>();
    for (const at of throughStars(pattern, reached)) {
      const part = pattern[at];
      if (part === undefined) continue;
      if (part === '**') next.add(at);
      else if (matchesPattern([folded(part)], folded(segment))) next.add(at + 1);
    }
    reached = next;
  }
  return [...reached].flatMap((at) => (at < pattern.length ? [pattern.slice(at)] : []));
}

/** A `**` also stands for no folder at all. */
function throughStars(pattern: readonly string[], reached: ReadonlySet<number>): ReadonlySet<number> {
  const all = new Set(reached);
  // A set is walked with what is added on the way.
  for (const at of all) if (pattern[at] === '**') all.add(at + 1);
  return all;
}

/** A pattern names a folder with all that is in it. */
const globs = ([first = '', ...more]: readonly string[]): readonly string[] => {
  const glob = `:(top,exclude,glob,icase)${[bracketed(first), ...more].join('/')}`;
  return [first, ...more].at(-1) === '**' ? [glob] : [glob, `${glob}/**`];
};

/**
 * The same pattern, without a name that git could take for a path: `git add` fails where an ignored file is named, and
 * what is left out counts as named. Brackets do not ignore case by themselves.
 */
const bracketed = (segment: string): string =>
  segment.replace(/\\?([!-)+->@-~])/, (_, letter: string) =>
    /[a-z]/i.test(letter) ? `[${letter.toLowerCase()}${letter.toUpperCase()}]` : `[\\${letter}]`,
  );

const segmentsOf = (path: string): readonly string[] => path.split(sep).filter((segment) => segment !== '');

const literal = (segment: string): string => segment.replace(/[[\]\\*?]/g, '\\$&');

/** Brackets and backslashes are letters in a manifest. */
const escaped = (segment: string): string => segment.replace(/[[\]\\]/g, '\\$&');
