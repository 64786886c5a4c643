import { readFileSync } from 'node:fs';

/** The package's version: two folders up from here, both in `src/` and in `dist/`. */
export function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { readonly version: string }).version;
}
