import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { exportedNames } from './exported-names.ts';
import { root } from './packed.ts';

interface Entry {
  readonly types: string;
  readonly node: string;
  readonly default: string;
}

const home = join(root, 'telltale');
const { exports } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'));
const paths = Object.entries<Entry | string>(exports).flatMap(([path, entry]) =>
  typeof entry === 'string' ? [] : [{ name: join('telltale', path).replaceAll('\\', '/'), ...entry }],
);
const declared = exportedNames(paths.map(({ types }) => join(home, types)));
const entries = paths.map((path, index) => ({ ...path, ...declared[index]! }));

test('the entries export what exports.txt lists ("npm test -- --update" writes it anew)', async () => {
  const sections = entries.map(({ name, lines }) => [name, ...lines.map((line) => `  ${line}`)].join('\n'));
  await expect(`${sections.join('\n\n')}\n`).toMatchFileSnapshot('exports.txt');
});

test.each(entries)('$name exports at run time the values that its types declare', async (entry) => {
  expect(entry.values.length).toBeGreaterThan(0);
  for (const file of [entry.node, entry.default]) {
    const loaded = await import(/* @vite-ignore */ pathToFileURL(join(home, file)).href);
    expect(Object.keys(loaded).sort()).toEqual(entry.values);
  }
});
