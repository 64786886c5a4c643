import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { loadManifests } from '../../src/manifest/load-manifests.ts';
import { agentTargets } from '../tools/agent-targets.ts';

const page = readFileSync(new URL('../../../docs/tools.md', import.meta.url), 'utf8');
const manifests = [...page.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text);
const named = (name: string) => manifests.find((text) => text.includes(`name: ${name}\n`)) ?? '';

test('every manifest of docs/tools.md is right', async () => {
  expect(manifests.length).toBeGreaterThan(5);
  for (const text of manifests) {
    const source = { label: 'tools.md', bytes: Buffer.from(text), folder: '/' };
    const { diagnostics } = await loadManifests([source], { env: {}, root: '/', cwd: '/' });
    const wrong = diagnostics.filter(
      ({ code }) => code !== 'import_matches_nothing' && code !== 'file_missing',
    );
    expect(wrong).toEqual([]);
  }
});

test('the script of docs/tools.md does what it says', async () => {
  const { call, table } = await agentTargets({
    agent: 'import: { tools: [./total.yml] }',
    files: { 'total.yml': named('order_total') },
  });
  expect(await call('order_total', { items: [{ price: 60, count: 2 }] })).toEqual({ sum: 120, discount: 12 });
  await table.close();
});
