import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { FileContent, GraphFile } from '../../store/graph.ts';
import { changeTime } from './change-time.ts';
import { RACY_MS } from './limits.ts';
import { readSource } from './read-source.ts';

/** Looks at single files, between two passes over the folder. */
export interface ChangedFiles {
  /** Whether it may not be what it was when it was read. Of a file that is not known there is nothing to say. */
  mayHave(path: string): boolean;
  /** Whether its content is another. */
  has(path: string): boolean;
}

export function createChangedFiles(
  folder: string,
  knownFile: (path: string) => GraphFile | undefined,
): ChangedFiles {
  const mayHave = (path: string): boolean => {
    const known = knownFile(path);
    if (known === undefined) return false;
    try {
      const found = lstatSync(join(folder, path), { throwIfNoEntry: false });
      const isSame = found?.size === known.size && changeTime(found) === known.mtimeMs;
      return !isSame || known.mtimeMs >= known.readAtMs - RACY_MS;
    } catch {
      return true; // The pass will see what is the matter with it.
    }
  };
  return {
    mayHave,
    has: (path) => mayHave(path) && hashOfFile(join(folder, path)) !== knownFile(path)?.hash,
  };
}

/** Undefined where it cannot be read. */
function hashOfFile(path: string): string | undefined {
  try {
    return readSource(path).hash;
  } catch {
    return undefined;
  }
}

/** Of those that are there. */
export const contentsOf = (folder: string, paths: readonly string[]): readonly FileContent[] =>
  paths.flatMap((path) => {
    const hash = hashOfFile(join(folder, path));
    return hash === undefined ? [] : [{ path, hash }];
  });
