import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Two folders up from here, in `src/`, in `dist/` and in the bundle. */
const MANIFEST = new URL('../../package.json', import.meta.url);

/** The package's version. */
export function packageVersion(): string {
  return (JSON.parse(readFileSync(MANIFEST, 'utf8')) as { readonly version: string }).version;
}

/** The folder of this package, with links resolved. */
export const packageFolder = (): string => dirname(fileURLToPath(MANIFEST));
