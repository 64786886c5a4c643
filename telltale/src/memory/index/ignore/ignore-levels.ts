import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { findGitFolder } from '../git-folder.ts';
import { type IgnoreRules, parseIgnoreRules } from './ignore-rules.ts';

/** What is ignored in a folder and below it: its own rules, then those of the folders above. */
export interface IgnoreLevel {
  readonly rules: IgnoreRules;
  /** From a path of the walk to one of the rules' folder: so many characters less, or these more. */
  readonly strip: number;
  readonly prefix: string;
  readonly above: IgnoreLevel | undefined;
}

/** Those of one folder, the weakest first: what stands in `.ignore` is for tools like this one. */
const IGNORE_FILES = ['.gitignore', '.ignore'];
const MAX_IGNORE_BYTES = 1024 * 1024;

export function isIgnored(
  level: IgnoreLevel | undefined,
  path: string,
  name: string,
  isFolder: boolean,
): boolean {
  for (let at = level; at !== undefined; at = at.above) {
    const { rules, strip, prefix } = at;
    const verdict = rules.verdict(strip === 0 ? prefix + path : path.slice(strip), name, isFolder);
    if (verdict !== undefined) return verdict === 'ignored';
  }
  return false;
}

/** `folder` is below `root` (`''`, or `a/b`) and has the entries `has`. */
export function levelOf(
  root: string,
  folder: string,
  above: IgnoreLevel | undefined,
  has: (name: string) => boolean,
): IgnoreLevel | undefined {
  let level = above;
  for (const file of IGNORE_FILES)
    if (has(file))
      level = withRules(level, join(root, folder, file), folder === '' ? 0 : folder.length + 1, '');
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
  let level = withRules(undefined, join(git.common, 'info', 'exclude'), 0, pathFrom(0));
  for (let depth = 0; depth < below.length; depth++) {
    const folder = join(git.repository, ...below.slice(0, depth));
    for (const file of IGNORE_FILES) level = withRules(level, join(folder, file), 0, pathFrom(depth));
  }
  return level;
}

function withRules(
  above: IgnoreLevel | undefined,
  file: string,
  strip: number,
  prefix: string,
): IgnoreLevel | undefined {
  const text = readText(file);
  const rules = text === undefined ? undefined : parseIgnoreRules(text);
  return rules === undefined ? above : { rules, strip, prefix, above };
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
