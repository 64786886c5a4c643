import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { root, run } from './packed.ts';

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

test('a program that opens a store loads neither the command line nor, beside the thread, the database', async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'telltale bundle-')));
  const program = `import { registerHooks } from 'node:module';
    const asked = [];
    registerHooks({
      resolve(specifier, context, next) {
        asked.push(specifier);
        return next(specifier, context);
      },
    });
    const { createRuntime } = await import(${JSON.stringify(pathToFileURL(join(bundle, 'index.js')).href)});
    const runtime = await createRuntime({ store: 'sqlite:log.db' });
    await runtime.preload();
    await runtime.close();
    const unasked = ['commander', 'picocolors', 'node:sqlite'].filter((name) => !asked.includes(name));
    console.log(asked.includes('zod'), ...unasked);`;
  const { output } = await run(process.execPath, ['--input-type=module', '-e', program], folder);
  rmSync(folder, { recursive: true });
  expect(output).toBe('true commander picocolors node:sqlite\n');
});

/** The files that a bundle's entry loads where it is imported, and what else it asks for. */
function loadedBy(entry: string) {
  const files = new Set<string>();
  const others = new Set<string>();
  const load = (file: string) => {
    if (files.has(file)) return;
    files.add(file);
    const text = readFileSync(file, 'utf8');
    for (const [, asked = ''] of text.matchAll(/^(?:import|export)\b[^;'"]*["']([^"']+)["'];?$/gm))
      if (asked.startsWith('.')) load(join(file, '..', asked));
      else others.add(asked);
  };
  load(join(bundle, entry));
  return { files, others: [...others] };
}

test.each(['parser/index.js', 'client/index.js', 'index.js'])(
  '%s asks for nothing but files of its own',
  (entry) => {
    const { files, others } = loadedBy(entry);
    expect(files.size).toBeGreaterThan(1);
    expect(others).toEqual([]);
  },
);
