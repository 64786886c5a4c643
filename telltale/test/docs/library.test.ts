import { mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runProgram } from '../examples/run-program.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const page = readFileSync(`${ROOT}docs/library.md`, 'utf8');
const PATIENT = { timeout: 120_000 };
const MARK = '-- next program --\n';

interface Program {
  readonly section: string;
  readonly code: string;
  readonly prints: string;
  readonly file: string;
}

/** Each `ts` block is a program; the `text` block right behind it is what it prints. */
const programs: readonly Program[] = [
  ...page.matchAll(/```ts\n([\s\S]*?)```\n(?:\n```text\n([\s\S]*?)```\n)?/g),
].map((match, index) => ({
  section:
    page
      .slice(0, match.index)
      .match(/^## .*$/gm)
      ?.at(-1)
      ?.slice(3) ?? '',
  code: match[1] ?? '',
  prints: match[2] ?? '',
  file: `program-${index}.ts`,
}));

describe('docs/library.md', () => {
  let folder: string;
  beforeAll(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'telltale-guide-')));
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    const { compilerOptions } = JSON.parse(readFileSync(join(ROOT, 'tsconfig.base.json'), 'utf8'));
    const options = { ...compilerOptions, noEmit: true, rewriteRelativeImportExtensions: false };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options }));
    for (const { file, code } of programs) writeFileSync(join(folder, file), code);
    const all = programs.map(
      ({ file }) => `process.stdout.write(${JSON.stringify(MARK)});\nawait import('./${file}');`,
    );
    writeFileSync(join(folder, 'all.mjs'), all.join('\n'));
    for (const [, name = '', text = ''] of page.matchAll(/```yaml\n# (\S+)\n([\s\S]*?)```/g))
      writeFileSync(join(folder, name), text);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('has programs', () => expect(programs.length).toBeGreaterThan(7));

  it('has only programs that compile', PATIENT, async () => {
    const tsc = join(ROOT, 'node_modules', '@typescript', 'native', 'bin', 'tsc');
    const { stdout } = await runProgram(folder, tsc);
    expect(stdout).toBe('');
  });

  it('prints what it says it does', PATIENT, async () => {
    // One process for all: loading the runtime takes longer than all programs together.
    const { code, stdout, stderr } = await runProgram(folder, 'all.mjs');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const printed = stdout.split(MARK).slice(1);
    expect(programs.map(({ section }, index) => ({ section, prints: printed[index] }))).toEqual(
      programs.map(({ section, prints }) => ({ section, prints })),
    );
  });

  it('links only to what is there', () => {
    const links = [...page.matchAll(/\]\((?!https?:|#)([^)#]+)[^)]*\)/g)].map((match) => match[1] ?? '');
    expect(links.length).toBeGreaterThan(1);
    for (const link of links) expect(() => realpathSync(join(ROOT, 'docs', link)), link).not.toThrow();
    const headings = [...page.matchAll(/^## (.*)$/gm)].map(([, title = '']) =>
      title.toLowerCase().replaceAll(' ', '-'),
    );
    for (const [, anchor = ''] of page.matchAll(/\]\(#([^)]+)\)/g)) expect(headings).toContain(anchor);
  });
});
