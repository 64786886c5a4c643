import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { runProgram } from '../examples/run-program.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** Every `ts` block of the pages that imports something. Those of library.md are run, too, by a test of their own. */
const programs = ['README.md', ...readdirSync(join(ROOT, 'docs')).map((name) => join('docs', name))]
  .filter((path) => path.endsWith('.md') && !path.endsWith('library.md'))
  .flatMap((path) =>
    [...readFileSync(join(ROOT, path), 'utf8').matchAll(/```ts\n([\s\S]*?)```/g)].map(
      ([, code = ''], index) => ({
        file: `${path.replaceAll(/\W/g, '-')}-${index}.ts`,
        code,
      }),
    ),
  )
  .filter(({ code }) => /^import /m.test(code));

it('every program of the pages compiles, as strictly as ours does', { timeout: 120_000 }, async () => {
  expect(programs.length).toBeGreaterThan(5);
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'telltale-programs-')));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  const { compilerOptions } = JSON.parse(readFileSync(join(ROOT, 'tsconfig.base.json'), 'utf8'));
  const options = { ...compilerOptions, noEmit: true, rewriteRelativeImportExtensions: false };
  // A page shows how things are called: what it does with them is the reader's.
  const shown = { noUnusedLocals: false, noUnusedParameters: false };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: { ...options, ...shown } }));
  for (const { file, code } of programs) writeFileSync(join(folder, file), `${code}\nexport {};\n`);
  const tsc = join(ROOT, 'node_modules', '@typescript', 'native', 'bin', 'tsc');
  const { stdout } = await runProgram(folder, tsc);
  expect(stdout).toBe('');
});
