import type { Dirent } from 'node:fs';
import { lstat, opendir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { RuntimeError } from '../../../lib/errors.ts';
import {
  type IgnoreLevel,
  isIgnored,
  type RulesPlace,
  withRules,
} from '../../../lib/gitignore/ignore-level.ts';
import { abortError } from '../../../tools/abort.ts';
import type { PermittedPath } from '../../../tools/access/permitted-paths.ts';
import { sourceFailed } from '../source.ts';

/** Entries that one walk comes across, those that are ignored included. 20,000 take about half a second. */
const MAX_ENTRIES = 20_000;
const MAX_DEPTH = 32;
/** Rules that are tried before everything else gets its turn. */
const TURN_WORK = 10_000;
/** Sizes that are asked for at once. */
const AT_ONCE = 64;
/** Nobody wants to read them, whatever git is told. */
const NEVER: ReadonlySet<string> = new Set(['.git', 'node_modules']);

export interface RepoFile {
  /** Below the folder, with forward slashes. */
  readonly path: string;
  readonly bytes: number;
  readonly changedAt: number;
}

export interface WalkedRepo {
  readonly files: readonly RepoFile[];
  readonly folders: readonly string[];
  /** Whether there is more than was come across. */
  readonly isCut: boolean;
}

interface WalkRepoWaiting {
  readonly path: string;
  readonly depth: number;
  readonly rules: IgnoreLevel | undefined;
}

/**
 * What is below a folder and git does not ignore, level by level, so that where it has to end early all of the upper
 * levels are there. Links are not followed and not listed; what may not be read is left out.
 */
export async function walkRepo(
  folder: PermittedPath,
  signal: AbortSignal,
  maxEntries = MAX_ENTRIES,
): Promise<WalkedRepo> {
  const files: RepoFile[] = [];
  const folders: string[] = [];
  let seen = 0;
  let isCut = false;
  let work = 0;
  const waiting: WalkRepoWaiting[] = [{ path: '', depth: 1, rules: await levelsAbove(folder) }];
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    if (signal.aborted) throw abortError('a repo source', signal);
    const { path, depth, rules } = next;
    const entries = await entriesOf(folder, path, maxEntries - seen);
    seen += entries.length;
    if (seen >= maxEntries) isCut = true;
    const found: string[] = [];
    for (const entry of entries) {
      work += rules?.cost ?? 0;
      if (work > TURN_WORK) {
        await turn();
        work = 0;
        if (signal.aborted) throw abortError('a repo source', signal);
      }
      const { name } = entry;
      const below = path === '' ? name : `${path}/${name}`;
      const isFolder = entry.isDirectory();
      if (!isFolder && !entry.isFile()) continue;
      if (NEVER.has(name) || isIgnored(rules, below, name, isFolder)) continue;
      if (!folder.covers(join(folder.real, below))) continue;
      if (!isFolder) found.push(below);
      else {
        folders.push(below);
        if (depth >= MAX_DEPTH || isCut) isCut = true;
        else waiting.push({ path: below, depth: depth + 1, rules: await levelOf(rules, folder, below) });
      }
    }
    files.push(...(await sizesOf(folder, found, signal)));
    if (isCut) break;
  }
  return { files, folders, isCut };
}

/** The first of all is an error if it cannot be read; any other is one that shows nothing. */
async function entriesOf({ real, shown }: PermittedPath, path: string, limit: number): Promise<Dirent[]> {
  const entries: Dirent[] = [];
  try {
    for await (const entry of await opendir(join(real, path))) {
      if (entries.length >= limit) break;
      entries.push(entry);
    }
  } catch (thrown) {
    if (path === '') throw sourceFailed(shown, thrown);
  }
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function sizesOf(
  { real }: PermittedPath,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<readonly RepoFile[]> {
  const sized: RepoFile[] = [];
  for (let at = 0; at < paths.length; at += AT_ONCE) {
    if (signal.aborted) throw abortError('a repo source', signal);
    const some = await Promise.all(
      paths.slice(at, at + AT_ONCE).map(async (path) => {
        const stats = await lstat(join(real, path)).catch(() => undefined); // gone since
        return stats?.isFile() ? { path, bytes: stats.size, changedAt: stats.mtimeMs } : undefined;
      }),
    );
    for (const file of some) if (file !== undefined) sized.push(file);
  }
  return sized;
}

const MAX_RULES_BYTES = 256 * 1024;
/** Folders above that are looked through for the root of the repository. */
const MAX_ABOVE = 32;

/** What is ignored in the folder that is walked: by its own rules and those of the folders above up to the repository's. */
async function levelsAbove(folder: PermittedPath): Promise<IgnoreLevel | undefined> {
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
const levelOf = (
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
