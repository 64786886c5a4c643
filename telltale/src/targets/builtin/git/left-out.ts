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
    if (rest.length === 0) return [`:(top,exclude,literal,icase)${way.join('/')}`];
    return globs([...way.map(escaped), ...rest.map(escaped)]);
  }
  const below = isInside(top, start) ? restBelow(rest, segmentsOf(relative(start, top))) : undefined;
  return below === undefined || below.length === 0 ? [] : globs(below.map(escaped));
}

/** What of a pattern counts some folders further down; undefined where it names nothing there. */
function restBelow(pattern: readonly string[], way: readonly string[]): readonly string[] | undefined {
  let rest = pattern;
  for (const segment of way) {
    const [first] = rest;
    if (first === '**') return rest;
    if (first === undefined || !matchesPattern([folded(first)], folded(segment))) return undefined;
    rest = rest.slice(1);
  }
  return rest;
}

/** A pattern names a folder with all that is in it. */
const globs = (segments: readonly string[]): readonly string[] => {
  const glob = `:(top,exclude,glob,icase)${segments.join('/')}`;
  return segments.at(-1) === '**' ? [glob] : [glob, `${glob}/**`];
};

const segmentsOf = (path: string): readonly string[] => path.split(sep).filter((segment) => segment !== '');

/** Brackets and backslashes are letters in a manifest. */
const escaped = (segment: string): string => segment.replace(/[[\]\\]/g, '\\$&');
