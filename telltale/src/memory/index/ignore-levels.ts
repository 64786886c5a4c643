import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { type IgnoreLevel, type RulesPlace, withRules } from '../../kernel/gitignore/ignore-level.ts';
import { findGitFolder } from './git-folder.ts';

/** Those of one folder, the weakest first: what stands in `.ignore` is for tools like this one. */
const IGNORE_FILES = ['.gitignore', '.ignore'];
const MAX_IGNORE_BYTES = 1024 * 1024;

/** `folder` is below `root` (`''`, or `a/b`) and has the entries `has`. */
export function levelOf(
  root: string,
  folder: string,
  above: IgnoreLevel | undefined,
  has: (name: string) => boolean,
): IgnoreLevel | undefined {
  let level = above;
  for (const file of IGNORE_FILES)
    if (has(file)) level = withFile(level, join(root, folder, file), { folder });
  return level;
}

/** What is ignored in `root` by what stands above it: the repository's `info/exclude` and its .gitignore files. */
export function levelsAbove(root: string): IgnoreLevel | undefined {
  const git = findGitFolder(root);
  if (git === undefined) return undefined;
  const below = relative(git.repository, root)
    .split(sep)
    .filter((part) => part !== '');
  const pathFrom = (depth: number) =>
    below
      .slice(depth)
      .map((part) => `${part}/`)
      .join('');
  let level = withFile(undefined, join(git.common, 'info', 'exclude'), { toRoot: pathFrom(0) });
  for (let depth = 0; depth < below.length; depth++) {
    const folder = join(git.repository, ...below.slice(0, depth));
    for (const file of IGNORE_FILES) level = withFile(level, join(folder, file), { toRoot: pathFrom(depth) });
  }
  return level;
}

function withFile(above: IgnoreLevel | undefined, file: string, place: RulesPlace): IgnoreLevel | undefined {
  const text = readText(file);
  return text === undefined ? above : withRules(above, text, place);
}

/** Nothing where there is none, or none that can be read: git takes no rules from a link, either. */
function readText(path: string): string | undefined {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch {
    return undefined;
  }
  try {
    const buffer = Buffer.alloc(Math.min(fstatSync(file).size, MAX_IGNORE_BYTES));
    return buffer.toString('utf8', 0, readSync(file, buffer, 0, buffer.length, 0));
  } catch {
    return undefined;
  } finally {
    closeSync(file);
  }
}
