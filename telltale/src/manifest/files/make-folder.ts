import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Makes a folder, with those it lies in. Not mkdir's own `recursive`: in a folder that refuses every new one with ENOENT
 * (/proc), that never returns, and keeps a core busy.
 */
export async function makeFolder(folder: string): Promise<void> {
  const found = await stat(folder).catch(noneIfMissing);
  if (found?.isDirectory()) return;
  if (found === undefined && dirname(folder) !== folder) await makeFolder(dirname(folder));
  await mkdir(folder).catch(async (thrown: unknown) => {
    // Somebody else may have made it meanwhile.
    if (!(await stat(folder).catch(noneIfMissing))?.isDirectory()) throw thrown;
  });
}

function noneIfMissing(thrown: NodeJS.ErrnoException): undefined {
  if (thrown.code !== 'ENOENT') throw thrown;
}
