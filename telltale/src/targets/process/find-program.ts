import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, resolve } from 'node:path';

/** Where the system looks where there is no PATH. */
const DEFAULT_PATH = '/usr/bin:/bin';

/** Where a program is, looked for as the system would: by its path, or along PATH. Else why it cannot be run. */
export async function findProgram(
  program: string,
  path: string | undefined,
  cwd: string,
): Promise<string | { readonly code: 'ENOENT' | 'EACCES' }> {
  const candidates =
    isAbsolute(program) || program.includes('/')
      ? [resolve(cwd, program)]
      : (path ?? DEFAULT_PATH).split(delimiter).map((folder) => resolve(cwd, folder, program));
  let denied = false;
  for (const candidate of program === '' ? [] : candidates) {
    const found = await stat(candidate).catch(() => undefined);
    if (found === undefined || !found.isFile()) continue;
    const may = await access(candidate, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (may) return candidate;
    denied = true;
  }
  return { code: denied ? 'EACCES' : 'ENOENT' };
}
