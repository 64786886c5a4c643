import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as telltale from '../../src/index.ts';
import { temporaryProject } from './temporary-project.ts';

const STATIC_IMPORT = /^(?:import|export) (?!type )(?:[^;]*? from )?'([^']+)';/gm;

/** Every module that comes with a static import, types aside. */
function reach(url: URL, seen = new Set<string>()): ReadonlySet<string> {
  if (seen.has(url.href)) return seen;
  seen.add(url.href);
  for (const [, name = ''] of readFileSync(url, 'utf8').matchAll(STATIC_IMPORT)) {
    if (name.startsWith('.')) reach(new URL(name, url), seen);
    else seen.add(name);
  }
  return seen;
}

describe("import 'telltale'", () => {
  it('brings no package with it: they load with the first call that needs them', () => {
    const modules = reach(new URL('../../src/index.ts', import.meta.url));
    expect(modules.size).toBeGreaterThan(5);
    expect([...modules].filter((name) => !name.startsWith('file:'))).toEqual([]);
  });

  it('loads, validates and describes manifests', async () => {
    const cwd = temporaryProject({ 'a.yml': 'kind: Agent\nname: a\ndialct: tags\n' });
    const loaded = await telltale.loadManifests(['a.yml'], { env: {}, cwd });
    const walked = await telltale.validateManifests(['.'], { env: {}, cwd });
    expect(walked.diagnostics).toEqual(loaded.diagnostics);
    expect(loaded.diagnostics.map((each) => telltale.formatDiagnostic(each))[0]).toContain('a.yml:3:1');
    expect(await telltale.manifestJsonSchema('Tool')).toHaveProperty('$schema');
  });
});
