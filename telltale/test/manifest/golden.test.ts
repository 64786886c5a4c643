import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { formatDiagnostic } from '../../src/manifest/format-diagnostic.ts';
import { loadManifests } from '../../src/manifest/load-manifests.ts';

const folder = fileURLToPath(new URL('golden', import.meta.url));
const names = readdirSync(folder).filter((name) => /\.(yml|json)$/.test(name));
const env = { API_KEY: 'sk-live-0123456789abcdef' };

describe('what a person reads about', () => {
  it.each(names)('%s', async (name) => {
    const { diagnostics } = await loadManifests([name], { env, cwd: folder, root: folder });
    const text = diagnostics.map((diagnostic) => `${formatDiagnostic(diagnostic)}\n`).join('\n');
    expect(text).not.toBe('');
    expect(text).not.toMatch(/sk-live|0123456789/);
    await expect(text).toMatchFileSnapshot(`golden/${name.replace(/\.\w+$/, '.txt')}`);
  });

  it('each of at least 25 mistakes', () => {
    expect(names.length).toBeGreaterThanOrEqual(25);
  });
});
