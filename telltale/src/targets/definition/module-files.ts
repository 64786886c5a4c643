import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { IMPORTED } from '../access/agent-files.ts';

/** Modules that are looked through for what they import. */
const MAX_MODULES = 1_000;

/** A module with all that it and those import by a path. Packages that they import by name are not among them. */
export function moduleFiles(module: string): ReadonlySet<string> {
  const waiting = [module];
  const seen = new Set<string>();
  for (let path = waiting.pop(); path !== undefined && seen.size < MAX_MODULES; path = waiting.pop()) {
    if (seen.has(path)) continue;
    seen.add(path);
    for (const [, imported = ''] of sourceOf(path).matchAll(IMPORTED))
      waiting.push(resolve(dirname(path), imported));
  }
  return seen;
}

function sourceOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // its hash says that it cannot be read
  }
}
