import { readFile, realpath } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Project } from '../../manifest/project/project.ts';
import { follow } from './follow.ts';

/** Modules that are looked through for what they import. */
const MAX_MODULES = 1_000;
/** What a module imports by a path: `from './x.mjs'`, `import './x.mjs'`, `import('./x.mjs')`, `require('./x.cjs')`. */
export const IMPORTED = /(?:\bfrom|\bimport|\brequire)\s*\(?\s*['"](\.{1,2}\/[^'"\n]+)['"]/g;

/**
 * The files that say what an agent may do, and those of its tools that run inside the runtime, links resolved: whoever
 * writes them is bound by nothing. Packages that a module imports by name are not among them.
 */
export async function agentFiles({ root, manifests }: Project): Promise<readonly string[]> {
  const found = new Set<string>();
  for (const file of [join(root, 'telltale.yml'), ...manifests.map(({ file }) => file)]) {
    const real = await realpath(file).catch(() => undefined); // an agent in code has no file
    if (real !== undefined) found.add(real);
  }
  const waiting = manifests.flatMap(({ file, manifest }) =>
    manifest.kind === 'Tool' && 'module' in manifest.implementation
      ? [resolve(dirname(file), manifest.implementation.module)]
      : [],
  );
  const seen = new Set<string>();
  for (let path = waiting.pop(); path !== undefined && seen.size < MAX_MODULES; path = waiting.pop()) {
    const real = await follow(path).then(
      (followed) => followed.real, // one that is not there yet is not to be made, either
      () => undefined,
    );
    if (real === undefined || seen.has(real)) continue;
    seen.add(real);
    const source = await readFile(real, 'utf8').catch(() => '');
    for (const [, imported = ''] of source.matchAll(IMPORTED)) waiting.push(resolve(dirname(real), imported));
  }
  return [...found, ...seen];
}
