import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadManifests } from '../../src/manifest/load-manifests.ts';
import { temporaryProject } from './temporary-project.ts';

const DOCS = join(import.meta.dirname, '../../../docs');

/** Whole manifests in the pages: blocks of YAML that say their kind. */
const EXAMPLES = readdirSync(DOCS)
  .filter((page) => page.endsWith('.md'))
  .flatMap((page) => {
    const text = readFileSync(join(DOCS, page), 'utf8');
    return [...text.matchAll(/^```yaml\n(.*?)^```$/gms)].flatMap(({ 1: source = '', index }) =>
      /^kind:/m.test(source) ? [{ place: `${page}:${text.slice(0, index).split('\n').length}`, source }] : [],
    );
  });

const OF_ITS_PLACE: ReadonlySet<string> = new Set(['file_missing', 'env_unset']);

describe('a manifest in the docs', () => {
  it('is found', () => expect(EXAMPLES.length).toBeGreaterThan(15));

  it.each(EXAMPLES)('is right as it stands: $place', async ({ source }) => {
    const cwd = temporaryProject({ 'package.json': '{}', 'page.yml': source });
    const { diagnostics } = await loadManifests(['page.yml'], { env: {}, cwd });
    // Variables of the environment are set by whoever runs it, and the files that it imports stand in other blocks, or nowhere.
    const wrong = diagnostics.filter(({ severity, code }) => severity === 'error' && !OF_ITS_PLACE.has(code));
    expect(wrong.map(({ line, message }) => `${line}: ${message}`)).toEqual([]);
  });
});
