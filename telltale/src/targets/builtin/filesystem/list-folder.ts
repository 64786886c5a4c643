import { lstat } from 'node:fs/promises';
import type { Json } from '../../../kernel/json.ts';
import type { PermittedPath } from '../../access/permitted-paths.ts';
import { MAX_WALKED, walk } from './walk.ts';

const MAX_LISTED = 1_000;
const MAX_TREE_LINES = 2_000;

/** What is in a folder, with type and size. */
export async function listFolder(folder: PermittedPath, signal: AbortSignal): Promise<Json> {
  const entries: Json[] = [];
  let seen = 0;
  for await (const { real, name, type } of walk(folder, { maxDepth: 1, signal })) {
    if (++seen > MAX_LISTED) continue;
    const stats = type === 'file' ? await lstat(real).catch(() => undefined) : undefined;
    entries.push({ name, type, ...(stats === undefined ? {} : { bytes: stats.size }) });
  }
  return { path: folder.shown, entries, ...(seen > MAX_LISTED ? { left_out: seen - MAX_LISTED } : {}) };
}

/** A folder and what is below it, indented; `depth` levels of it. */
export async function treeOf(folder: PermittedPath, depth: number, signal: AbortSignal): Promise<Json> {
  const lines = [`${folder.shown}/`];
  let seen = 0;
  for await (const { name, type, depth: level } of walk(folder, { maxDepth: depth, signal })) {
    if (++seen > MAX_WALKED) break;
    if (seen > MAX_TREE_LINES) continue;
    lines.push(`${'  '.repeat(level)}${name}${type === 'folder' ? '/' : type === 'link' ? ' (link)' : ''}`);
  }
  if (seen > MAX_TREE_LINES)
    lines.push(`… ${seen - MAX_TREE_LINES} more: ask for a folder of it, or less depth.`);
  return lines.join('\n');
}
