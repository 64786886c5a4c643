import { lstat, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type IgnoreLevel, type RulesPlace, withRules } from '../../../kernel/gitignore/ignore-level.ts';
import { RuntimeError } from '../../../kernel/runtime-error.ts';
import type { PermittedPath } from '../../../targets/access/permitted-paths.ts';

const MAX_RULES_BYTES = 256 * 1024;
/** Folders above that are looked through for the root of the repository. */
const MAX_ABOVE = 32;

/** What is ignored in the folder that is walked: by its own rules and those of the folders above up to the repository's. */
export async function levelsAbove(folder: PermittedPath): Promise<IgnoreLevel | undefined> {
  const above: { readonly folder: string; readonly toRoot: string }[] = [];
  let at = folder.real;
  let toRoot = '';
  let isRepository = await exists(join(at, '.git'));
  while (!isRepository && above.length < MAX_ABOVE && dirname(at) !== at) {
    toRoot = `${basename(at)}/${toRoot}`;
    at = dirname(at);
    above.unshift({ folder: at, toRoot });
    isRepository = await exists(join(at, '.git'));
  }
  let level: IgnoreLevel | undefined;
  if (isRepository) {
    level = await withFile(level, join(at, '.git', 'info', 'exclude'), { toRoot }, folder);
    for (const { folder: upper, toRoot } of above)
      level = await withFile(level, join(upper, '.gitignore'), { toRoot }, folder);
  }
  return levelOf(level, folder, '');
}

/** Of a folder below, whose rules count for more. `path` is below the folder that is walked; empty for itself. */
export const levelOf = (
  above: IgnoreLevel | undefined,
  folder: PermittedPath,
  path: string,
): Promise<IgnoreLevel | undefined> =>
  withFile(above, join(folder.real, path, '.gitignore'), { folder: path }, folder);

async function withFile(
  above: IgnoreLevel | undefined,
  file: string,
  place: RulesPlace,
  { covers }: PermittedPath,
): Promise<IgnoreLevel | undefined> {
  if (!covers(file)) return above;
  // Git takes no rules from a link, either.
  const size = await lstat(file).then(
    (found) => (found.isFile() ? found.size : 0),
    () => 0,
  );
  if (size === 0) return above;
  if (size > MAX_RULES_BYTES) throw rulesTooLarge(file, size);
  const text = await readFile(file, 'utf8').catch(() => ''); // gone since, or not to be read: no rules
  return withRules(above, text, place);
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

const rulesTooLarge = (file: string, bytes: number) =>
  new RuntimeError('file_too_large', `"${file}" has ${bytes} bytes; ${MAX_RULES_BYTES} are read.`, {
    hint: 'Write fewer rules, with wildcards.',
  });
