import { opendir, readdir, stat } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import { follow } from '../access/follow.ts';
import { folded, isPattern, matchesPattern, splitPattern } from '../access/path-pattern.ts';
import type { PermittedPaths } from '../access/permitted-paths.ts';
import { hardLinksOf } from './hard-links.ts';
import type { Mask } from './sandbox-mounts.ts';

/** Entries that are looked through for what a pattern names, before each command. */
const MAX_LOOKED_AT = 100_000;
const MAX_MASKS = 1_000;
const STAYS = { stays: true } as const;
const PASSED_OVER: ReadonlySet<string> = new Set(['.git', 'node_modules']);

/**
 * What there is of these paths and patterns, absolute, and of `own` paths; and in `roots` the same files under other
 * names. Throws where it is too much to be kept away.
 */
export async function findMasks(
  { guarded, denied, own }: Pick<PermittedPaths, 'guarded' | 'denied' | 'own'>,
  roots: readonly string[],
): Promise<readonly Mask[]> {
  const masks: Mask[] = [];
  for (const path of own) await add(masks, path, STAYS);
  const ownFiles = (await Promise.all(masks.map(filesOf))).flat();
  const budget = { left: MAX_LOOKED_AT };
  const asked = guarded.filter((entry) => !denied.includes(entry));
  for (const entry of [...denied, ...asked]) {
    const more = denied.includes(entry) ? STAYS : {};
    if (!isPattern(entry)) await add(masks, entry, more);
    else for await (const path of matching(entry, budget)) await add(masks, path, more);
    if (masks.length > MAX_MASKS) throw tooMany(entry, `more than ${MAX_MASKS} files and folders`);
  }
  const files = masks.flatMap(({ path, type }) => (type === 'file' ? [path] : []));
  for (const path of await hardLinksOf([...files, ...ownFiles], roots)) await add(masks, path, STAYS);
  return masks;
}

/** Of a folder all files that it holds: the runtime's own are small. */
async function filesOf({ path, type }: Mask): Promise<readonly string[]> {
  if (type === 'file') return [path];
  const entries = await readdir(path, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => entry.isFile())
    .slice(0, MAX_LOOKED_AT)
    .map((entry) => join(entry.parentPath, entry.name));
}

async function add(masks: Mask[], path: string, more: Pick<Mask, 'stays'>): Promise<void> {
  const real = await follow(path).then(
    (found) => (found.exists ? found.real : undefined),
    () => undefined,
  );
  const stats = real === undefined ? undefined : await stat(real).catch(() => undefined);
  if (real === undefined || stats === undefined || masks.some((mask) => mask.path === real)) return;
  masks.push({ path: real, type: stats.isDirectory() ? 'folder' : 'file', ...more });
}

async function* matching(entry: string, budget: { left: number }): AsyncGenerator<string> {
  const { folder, rest } = splitPattern(entry);
  const start = resolve(folder);
  if (rest.length === 1 && rest[0] === '**') {
    yield start;
    return;
  }
  const pattern = rest.map(folded);
  const waiting = [start];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    const opened = await opendir(at).catch(() => undefined); // one that is not there, or no folder
    if (opened === undefined) continue;
    for await (const each of opened) {
      if (--budget.left < 0) throw tooMany(entry, `more than ${MAX_LOOKED_AT} files and folders to look at`);
      const path = join(at, each.name);
      if (matchesPattern(pattern, folded(relative(start, path)))) yield path;
      else if (each.isDirectory() && !PASSED_OVER.has(each.name)) waiting.push(path);
    }
  }
}

const tooMany = (entry: string, what: string) =>
  new RuntimeError('not_permitted', `Commands cannot be kept away from "${entry}": ${what}.`, {
    hint: 'Name folders in "permissions: { paths: { deny, ask } }", not single files of a large tree.',
  });
