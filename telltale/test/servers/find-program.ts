import { accessSync, constants, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Where Debian puts PostgreSQL, which is not in PATH there. */
const POSTGRES_HOME = '/usr/lib/postgresql';

/** The path of an installed program; undefined if there is none. Links stay: a program may go by the name it is called by. */
export function findProgram(name: string, more: readonly string[] = []): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  for (const folder of [...folders, '/usr/sbin', '/usr/local/sbin', ...more])
    if (isProgram(join(folder, name))) return join(folder, name);
  return undefined;
}

/** The folders of all versions that are installed, newest first. */
export function postgresFolders(): readonly string[] {
  try {
    return readdirSync(POSTGRES_HOME)
      .toSorted((a, b) => Number(b) - Number(a))
      .map((version) => join(POSTGRES_HOME, version, 'bin'));
  } catch {
    return []; // not a Debian, or none is installed
  }
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
