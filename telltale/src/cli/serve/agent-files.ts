import { readdir, readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { looksLikeAgent, MANIFEST_FILE } from '../../manifest/files/walk-folder.ts';

/** Folders that are looked into where nobody names a file: this one, and its `agents`. Not what lies below. */
const SHALLOW = ['.', 'agents'];
/** Larger files are no manifests. */
const MAX_BYTES = 1024 * 1024;

/** The files that hold agents: all that are named, and in folders that are named all that are found below. */
export async function namedAgentFiles(paths: readonly string[], cwd: string): Promise<readonly string[]> {
  // What knows manifests is most of what a start takes: those who name no folder load it beside the store.
  const { findManifests } = await import('../../manifest/find-manifests.ts');
  const named = new Set<string>();
  for (const path of paths) {
    const absolute = resolve(cwd, path);
    const isFolder = await stat(absolute).then(
      (found) => found.isDirectory(),
      () => false,
    );
    // A file that is named is tried whatever it is: its error says what is wrong with it.
    if (!isFolder) named.add(absolute);
    else
      for (const file of (await findManifests([path], { cwd })).files)
        if (await holdsAgent(file)) named.add(file);
  }
  return [...named];
}

/** The agents of a folder that nobody said more of. */
export async function agentFilesIn(folder: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const below of SHALLOW) {
    const names = await readdir(join(folder, below)).catch(() => [] as string[]);
    for (const name of names.filter((each) => MANIFEST_FILE.test(each)).sort())
      if (await holdsAgent(join(folder, below, name))) found.push(join(folder, below, name));
  }
  return found;
}

async function holdsAgent(file: string): Promise<boolean> {
  try {
    const { size } = await stat(file);
    return size <= MAX_BYTES && looksLikeAgent(await readFile(file, 'utf8'));
  } catch {
    return false; // it is gone, or not for us to read: it was not asked for by name
  }
}
