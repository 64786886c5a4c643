import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { root, run } from './packed.ts';

let folder: string;
let home: string;

/** A package whose modules say where they are, in a project with a module of its own. */
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'telltale quick start-')));
  home = join(folder, 'node_modules', 'telltale');
  cpSync(join(root, 'telltale', 'bin'), join(home, 'bin'), { recursive: true });
  writeFileSync(
    join(home, 'package.json'),
    JSON.stringify({
      name: 'telltale',
      type: 'module',
      exports: {
        '.': { node: './bundle/index.js', default: './dist/index.js' },
        './part': { node: './bundle/part/index.js', default: './dist/part/index.js' },
      },
    }),
  );
  writeFileSync(
    join(folder, 'tool.mjs'),
    "import { where } from 'telltale';\nimport { part } from 'telltale/part';\nexport const seen = [where, part];",
  );
  for (const name of ['dist', 'bundle']) {
    for (const inner of ['cli', 'part']) mkdirSync(join(home, name, inner), { recursive: true });
    writeFileSync(join(home, name, 'index.js'), `export const where = '${name}';`);
    writeFileSync(join(home, name, 'part', 'index.js'), "export { where as part } from '../index.js';");
    writeFileSync(
      join(home, name, 'cli', 'start.js'),
      `import { where } from '../index.js';
       export async function start() {
         const { seen } = await import(${JSON.stringify(join(folder, 'tool.mjs'))});
         console.log(where, ...seen);
         return 0;
       }`,
    );
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const start = async () => {
  const { code, output } = await run(process.execPath, [join(home, 'bin', 'telltale.js')], folder);
  return code === 0 ? output : `${code}: ${output}`;
};

test('the bundle is what runs, and what a tool gets that imports the package', async () => {
  expect(await start()).toBe('bundle bundle bundle\n');
});

test('a bundle that is older than what was compiled is left alone', async () => {
  const notes = join(home, 'dist', '.tsbuildinfo');
  const at = (seconds: number) => new Date(Date.now() + seconds * 1_000);
  writeFileSync(notes, '');
  utimesSync(notes, at(60), at(60));
  expect(await start()).toBe('dist dist dist\n');
  utimesSync(notes, at(-60), at(-60));
  expect(await start()).toBe('bundle bundle bundle\n');
});

test('without a bundle, what was compiled runs', async () => {
  rmSync(join(home, 'bundle'), { recursive: true });
  expect(await start()).toBe('dist dist dist\n');
});

test('with neither, it says how to build', async () => {
  rmSync(join(home, 'dist'), { recursive: true });
  expect(await start()).toBe(
    `2: telltale is not built.\n  at ${join(home, 'dist', 'cli', 'start.js')}\nRun "npm run build" in the repository.\n`,
  );
});
