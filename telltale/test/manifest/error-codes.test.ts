import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const golden = fileURLToPath(new URL('golden', import.meta.url));
const docs = readFileSync(new URL('../../../docs/errors.md', import.meta.url), 'utf8');

it('docs/errors.md has every code that the golden files show', () => {
  const shown = readdirSync(golden)
    .filter((name) => name.endsWith('.txt'))
    .flatMap((name) =>
      [...readFileSync(`${golden}/${name}`, 'utf8').matchAll(/\[([a-z0-9_]+)\]$/gm)].map(([, code]) => code),
    );
  expect(new Set(shown).size).toBeGreaterThan(25);
  for (const code of new Set(shown)) expect(docs).toContain(`\`${code}\``);
});
