import { basename, resolve } from 'node:path';
import { err, ok } from '../../kernel/result.ts';
import type { Diagnostic } from '../../manifest/diagnostic.ts';
import type { Files } from '../../manifest/files/files.ts';
import { loadManifests } from '../../manifest/load-manifests.ts';
import type { MadeFile } from '../made-file.ts';

/** A folder that is on no disk: what is made is checked before anything is written. */
const FOLDER = resolve('/imported');

/** What is wrong with manifests that were made, the first of which imports the others. */
export async function checkMade(
  made: readonly MadeFile[],
  signal: AbortSignal,
): Promise<readonly Diagnostic[]> {
  const texts = new Map(made.map(({ path, text }) => [resolve(FOLDER, path), text]));
  const files: Files = {
    async read(path) {
      const text = texts.get(path);
      return text === undefined
        ? err({ type: 'missing', siblings: [...texts.keys()].map((each) => basename(each)) })
        : ok(new TextEncoder().encode(text));
    },
    realPath: async (path) => path,
    exists: async (path) => texts.has(path),
    glob: async () => ok([]),
  };
  const { diagnostics } = await loadManifests([...texts.keys()], {
    env: {},
    cwd: FOLDER,
    root: FOLDER,
    files,
    signal,
  });
  return diagnostics.filter(({ severity }) => severity === 'error');
}
