import { basename, dirname, resolve } from 'node:path';

/** The folder that the store has to itself unless it is told otherwise. */
const OWN_FOLDER = '.telltale';

/**
 * What the runtime keeps for itself, absolute: its store, and `.telltale` of the folder it runs in and of the agent's,
 * wherever the store lies. Knowledge graphs are there beside a store that is a server's, and the next run may take it for
 * its store. An agent that could write there, or let a command do so, would answer its own reviews.
 */
export function storeFiles(location: string, agentFolder: string): readonly string[] {
  const kept = [resolve(OWN_FOLDER), resolve(agentFolder, OWN_FOLDER)];
  const path = /^sqlite:(.+)$/.exec(location)?.[1];
  if (path !== undefined) {
    const file = resolve(path);
    const folder = dirname(file);
    if (basename(folder) === OWN_FOLDER) kept.push(folder);
    else kept.push(file, `${file}-wal`, `${file}-shm`, `${file}-journal`);
  }
  return [...new Set(kept)];
}
