import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { loadManifests } from '../../src/manifest/load-manifests.ts';
import type { WorkflowManifest } from '../../src/manifest/schema/kinds.ts';
import { compileTriggers } from '../../src/triggers/compile-triggers.ts';
import { outsideTriggers } from '../../src/triggers/outside-triggers.ts';

const page = readFileSync(new URL('../../../docs/triggers.md', import.meta.url), 'utf8');
const manifests = [...page.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text);

/** What the page takes from the environment. */
const SECRETS = {
  HOOK_SECRET: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  PAID_SECRET: 'p2fT8s-hook-key-of-this-test',
};

test('every workflow of docs/triggers.md is right, and its triggers can be watched or listened for', async () => {
  expect(manifests).toHaveLength(6);
  for (const text of manifests) {
    const source = { label: 'triggers.md', bytes: Buffer.from(text), folder: '/' };
    const { diagnostics, projects } = await loadManifests([source], { env: SECRETS, root: '/', cwd: '/' });
    expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
    const workflows = projects.flatMap(({ manifests: found }) =>
      found.map(({ manifest }) => manifest as WorkflowManifest),
    );
    expect(compileTriggers(workflows).all.length + outsideTriggers(workflows).length).toBeGreaterThan(0);
  }
});
