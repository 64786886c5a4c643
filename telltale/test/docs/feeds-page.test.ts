import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { loadManifests } from '../../src/manifest/load-manifests.ts';

const page = (name: string) => readFileSync(new URL(`../../../docs/${name}.md`, import.meta.url), 'utf8');
const blocks = (text: string) =>
  [...text.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block);

/** What an agent would need beside the block, so that nothing it names is missing. */
const AGENT = `kind: Agent
name: reader
model: scripted:turns.yml
models: { fast: "scripted:turns.yml" }
metadata: { fields: { status: { values: [IDLE, BUSY], default: IDLE } } }
import: { tools: [builtin:system_monitor] }
`;
const mistakesIn = async (block: string) => {
  const bytes = Buffer.from(AGENT + block);
  const source = { label: 'page.yml', bytes, folder: '/' };
  const { diagnostics } = await loadManifests([source], { env: {}, root: '/', cwd: '/' });
  return diagnostics.filter(({ code }) => code !== 'file_missing');
};

test.each(['feeds', 'memory', 'internal-actions'])('every manifest of docs/%s.md is right', async (name) => {
  const all = blocks(page(name));
  expect(all.length).toBeGreaterThan(0);
  for (const block of all) {
    const feed = '  - { id: repo_structure, source: { type: repo, name: . } }\n';
    const whole = block.startsWith('  - ') ? `context_feeds:\n${feed}${block}` : block;
    expect(await mistakesIn(whole)).toEqual([]);
  }
});

test('every link of a chain in docs/feeds.md can be written as it stands there', async () => {
  const links = [...page('feeds').matchAll(/`(\{ \w+: [^`]* \})`/g)].map(([, link = '']) =>
    link.replaceAll('\\|', '|'),
  );
  const kinds = links.map((link) => /\w+/.exec(link)?.[0]);
  expect(kinds).toEqual(expect.arrayContaining(['jsonpath', 'cel', 'head', 'tail', 'lines', 'template']));
  for (const link of links) {
    if (!/^\{ (?:jsonpath|cel|head|tail|lines|template):/.test(link)) continue;
    const feed = `{ id: f, source: { type: metadata }, transform: [${link}] }`;
    expect(await mistakesIn(`context_feeds: [${feed}]\n`)).toEqual([]);
  }
});
