import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { expect, test } from 'vitest';
import { root } from './packed.ts';

const home = join(root, 'telltale');
const bundle = join(home, 'bundle');

const filesBelow = (folder: string, end: string) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(end))
    .map((file) => join(folder, file));

/** The modules that threads and processes are started from, as the sources name them. */
const started = filesBelow(join(home, 'src'), '.ts').flatMap((file) =>
  [...readFileSync(file, 'utf8').matchAll(/builtFile\(new URL\('(.+)\.ts'/g)].map(([, path = '']) =>
    relative(join(home, 'src'), join(file, '..', path)).replaceAll(sep, '/'),
  ),
);

test('the bundle has what threads and processes are started from in files that nothing else loads', () => {
  expect(started).toContain('store/sqlite/thread/worker');
  const files = filesBelow(bundle, '.js').map((file) => ({ file, text: readFileSync(file, 'utf8') }));
  const holding = (entry: string) =>
    files
      .filter(({ text }) => text.includes(`// telltale/dist/${entry}.js\n`))
      .map(({ file }) => relative(bundle, file).replaceAll(sep, '/'));
  // One that acts where it is loaded would do so in every thread that shares a file with it.
  const loaded = (entry: string) =>
    files.filter(({ text }) => new RegExp(`from "[./]*${entry}.js"`).test(text));
  for (const entry of started) {
    expect({ entry, in: holding(entry) }).toEqual({ entry, in: [`${entry}.js`] });
    expect(loaded(entry)).toEqual([]);
  }
});
