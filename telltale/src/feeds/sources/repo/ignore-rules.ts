import { readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Ignore } from 'ignore';
import { RuntimeError } from '../../../kernel/runtime-error.ts';
import { clip } from '../../../manifest/schema/show-value.ts';
import type { PermittedPath } from '../../../targets/access/permitted-paths.ts';

const MAX_RULES_BYTES = 256 * 1024;
/** Lines that say something: each entry of the folder is held against each. */
const MAX_RULES = 1_000;
/** Times that one line may say "any folders in between": what it takes to try a path grows by its depth with each. */
const MAX_GLOBSTARS = 3;
/** What a line with these takes at the worst, in lines without. */
const GLOBSTAR_COST = 50;
/** Folders above that are looked through for the root of the repository. */
const MAX_ABOVE = 32;
/** Nobody wants to read them, whatever git is told. */
const NEVER: ReadonlySet<string> = new Set(['.git', 'node_modules']);

/** What git would leave out below one folder: the rules of the folders above it first, its own last. */
export interface IgnoreRules {
  readonly chain: readonly Level[];
  /** What trying one path takes: lines, about two microseconds each at the worst. */
  readonly cost: number;
}

interface Level {
  /** With `/` behind it where it is not empty: what paths below the walked folder are lengthened by. */
  readonly prefix: string;
  /** How many characters of the path belong to folders above the one whose rules these are. */
  readonly skip: number;
  readonly rules: Ignore;
  readonly cost: number;
}

/** `path`: below the folder that is walked, with forward slashes. */
export function isIgnored({ chain }: IgnoreRules, path: string, isFolder: boolean): boolean {
  if (NEVER.has(path.slice(path.lastIndexOf('/') + 1))) return true;
  let ignored = false;
  for (const { prefix, skip, rules } of chain) {
    const below = `${prefix}${path}${isFolder ? '/' : ''}`.slice(skip);
    const verdict = rules.test(below);
    if (verdict.ignored) ignored = true;
    else if (verdict.unignored) ignored = false;
  }
  return ignored;
}

/** The rules for the folder that is walked: its own, and those of the folders above up to the repository's root. */
export async function rulesAbove(folder: PermittedPath): Promise<IgnoreRules> {
  const above: { readonly folder: string; readonly prefix: string }[] = [];
  let at = folder.real;
  let prefix = '';
  let isRepository = await exists(join(at, '.git'));
  while (!isRepository && above.length < MAX_ABOVE && dirname(at) !== at) {
    const name = at.slice(dirname(at).length).replace(/^[\\/]/, '');
    prefix = `${name}/${prefix}`;
    at = dirname(at);
    above.unshift({ folder: at, prefix });
    isRepository = await exists(join(at, '.git'));
  }
  const chain: Level[] = [];
  const root = isRepository ? at : folder.real;
  const rootPrefix = isRepository ? prefix : '';
  await add(chain, join(root, '.git', 'info', 'exclude'), { prefix: rootPrefix, skip: 0 }, folder);
  if (isRepository)
    for (const level of above)
      await add(chain, join(level.folder, '.gitignore'), { prefix: level.prefix, skip: 0 }, folder);
  return rulesOf({ chain, cost: 0 }, folder, '');
}

/** Those of a folder below, which count for more. `path` is below the folder that is walked; empty for itself. */
export async function rulesOf(above: IgnoreRules, folder: PermittedPath, path: string): Promise<IgnoreRules> {
  const chain = [...above.chain];
  const skip = path === '' ? 0 : path.length + 1;
  await add(chain, join(folder.real, path, '.gitignore'), { prefix: '', skip }, folder);
  return { chain, cost: chain.reduce((sum, { cost }) => sum + cost, 0) };
}

async function add(
  chain: Level[],
  file: string,
  place: Pick<Level, 'prefix' | 'skip'>,
  { covers }: PermittedPath,
): Promise<void> {
  if (!covers(file)) return;
  const size = await stat(file).then(
    (found) => (found.isFile() ? found.size : 0),
    () => 0,
  );
  if (size === 0) return;
  if (size > MAX_RULES_BYTES) throw rulesTooLarge(file, size);
  const text = await readFile(file, 'utf8').catch(() => ''); // gone since, or not to be read: no rules
  const cost = costOf(file, text);
  const { default: ignore } = await import('ignore');
  chain.push({ ...place, rules: ignore().add(text), cost });
}

/** Throws where it would take too long: a repository need not be a friend's. */
function costOf(file: string, text: string): number {
  const lines = text.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#'));
  if (lines.length > MAX_RULES) throw tooManyRules(file, lines.length);
  let cost = lines.length;
  for (const line of lines) {
    const globstars = line.split('**').length - 1;
    if (globstars > MAX_GLOBSTARS) throw tooManyGlobstars(file, line);
    if (globstars > 1) cost += GLOBSTAR_COST ** (globstars - 1);
  }
  return cost;
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

const tooManyRules = (file: string, lines: number) =>
  new RuntimeError('file_too_large', `"${file}" has ${lines} rules; ${MAX_RULES} are read.`, {
    hint: 'Write fewer rules, with wildcards.',
  });

const tooManyGlobstars = (file: string, line: string) =>
  new RuntimeError('bad_pattern', `"${file}" has "${clip(line)}", which would take too long to try.`, {
    hint: `Write "**" ${MAX_GLOBSTARS} times in a line at the most.`,
  });
