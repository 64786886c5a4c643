import { access, realpath, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeFolder } from '../../manifest/files/make-folder.ts';
import { readTemplate } from '../demo/template.ts';

/** Where the package keeps the agent that newcomers meet in the console, and what it works on. */
const TOUR = fileURLToPath(new URL('../../../transcripts/tour', import.meta.url));

/** Not below `.telltale`: no agent touches what is there. */
const FOLDER = 'telltale-tour';

/**
 * Lays the tour out in a folder of its own, and gives its agent's file. What is there stays as it is: sessions of it can be
 * resumed, and somebody may have changed it to see what happens.
 */
export async function layOutTour(cwd: string): Promise<string> {
  const folder = join(cwd, FOLDER);
  for (const { path, text } of await readTemplate(TOUR)) {
    const file = join(folder, path);
    if (await isThere(file)) continue;
    await makeFolder(dirname(file));
    await writeFile(file, text);
  }
  return join(await realpath(folder), 'agent.yml');
}

const isThere = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );
