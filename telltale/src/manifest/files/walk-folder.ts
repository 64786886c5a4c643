import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { MANIFEST_LIMITS } from '../limits.ts';

const SKIPPED: ReadonlySet<string> = new Set(['node_modules']);
/** The names of files that a scan looks into. */
export const MANIFEST_FILE = /\.(?:ya?ml|json)$/i;
const AGENT = /^(?:---[ \t]+)?["']?kind["']?[ \t]*:[ \t]*["']?Agent\b|"kind"\s*:\s*"Agent"/m;

/** Whether the text of such a file holds an agent. */
export const looksLikeAgent = (text: string): boolean => AGENT.test(text);

export interface Walked {
  /** YAML and JSON files, absolute, sorted folder by folder. */
  readonly files: readonly string[];
  /** Whether the walk ended at its limit. */
  readonly cut: boolean;
  /** Folders that may not be read. */
  readonly denied: readonly string[];
}

/** YAML and JSON files below a folder. Left out: node_modules, what begins with a dot, and symbolic links. */
export async function walkFolder(folder: string, signal?: AbortSignal): Promise<Walked> {
  const files: string[] = [];
  const denied: string[] = [];
  const waiting: { readonly path: string; readonly depth: number }[] = [{ path: folder, depth: 0 }];
  let seen = 0;
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    signal?.throwIfAborted();
    const { path, depth } = next;
    const entries: Dirent[] | undefined = await readdir(path, { withFileTypes: true }).catch(() => undefined);
    if (entries === undefined) {
      denied.push(path);
      continue;
    }
    seen += entries.length;
    if (seen > MANIFEST_LIMITS.walkEntries) return { files, cut: true, denied };
    const shown = entries.filter(({ name }) => !name.startsWith('.') && !SKIPPED.has(name));
    shown.sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const entry of shown)
      if (entry.isFile() && MANIFEST_FILE.test(entry.name)) files.push(join(path, entry.name));
    if (depth === MANIFEST_LIMITS.walkDepth) continue;
    for (const entry of shown.reverse())
      if (entry.isDirectory()) waiting.push({ path: join(path, entry.name), depth: depth + 1 });
  }
  return { files, cut: false, denied };
}
