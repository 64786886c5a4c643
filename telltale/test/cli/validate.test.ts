import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { startProgress } from '../../src/cli/progress.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { recordedIo } from './recorded-io.ts';

const AGENT = 'kind: Agent\nname: a\n';
const TOOL = 'kind: Tool\nname: t\nimplementation: { command: [ls] }\n';

const validate = async (argv: readonly string[], options: Parameters<typeof recordedIo>[0] = {}) => {
  const io = recordedIo(options);
  const code = await main(['validate', ...argv], io);
  return { code, out: io.out(), err: io.err() };
};

describe('telltale validate', () => {
  it('without paths checks what is below the current folder, and says what it looked at', async () => {
    const cwd = temporaryProject({ 'a.yml': AGENT, 'tools/t.yml': TOOL, 'other.yml': 'x: 1\n' });
    expect(await validate([], { cwd })).toEqual({
      code: 0,
      out: 'Searched 3 YAML or JSON files.\n2 manifests in 2 files: no errors\n',
      err: '',
    });
  });

  it('ends with 2 on errors and with 0 on warnings', async () => {
    const cwd = temporaryProject({
      'bad.yml': `${AGENT}dialct: tags\n`,
      'doubtful.yml': `${AGENT}import:\n  tools: [./none/*.yml]\n`,
    });
    const bad = await validate(['bad.yml'], { cwd });
    expect(bad.code).toBe(2);
    expect(bad.out).toMatch(/1 manifest in 1 file: 1 error, 0 warnings\n$/);
    const doubtful = await validate(['doubtful.yml'], { cwd });
    expect(doubtful.code).toBe(0);
    expect(doubtful.out).toMatch(/1 manifest in 1 file: 0 errors, 1 warning\n$/);
  });

  it('counts errors and warnings apart, and in color where there is some', async () => {
    const cwd = temporaryProject({
      'bad.yml': `${AGENT}dialct: tags\nimport:\n  tools: [./none/*.yml]\n`,
      'doubtful.yml': `${AGENT}import:\n  tools: [./none/*.yml]\n`,
      'good.yml': AGENT,
    });
    const last = async (name: string, color: boolean) =>
      (await validate([name], { cwd, color })).out.split('\n').at(-2);
    expect(await last('bad.yml', false)).toBe('1 manifest in 1 file: 1 error, 1 warning');
    expect(await last('good.yml', false)).toBe('1 manifest in 1 file: no errors');
    const [bad, doubtful, good] = [
      await last('bad.yml', true),
      await last('doubtful.yml', true),
      await last('good.yml', true),
    ];
    expect([bad, doubtful, good].map((line) => /\[(\d+)m/.exec(line ?? '')?.[1])).toEqual(['31', '33', '32']);
  });

  it('prints one JSON value with --json', async () => {
    const cwd = temporaryProject({ 'a.yml': `${AGENT}---\n${TOOL}aproval: never\n` });
    const { code, out, err } = await validate(['--json', 'a.yml'], { cwd });
    expect({ code, err }).toEqual({ code: 2, err: '' });
    expect(JSON.parse(out)).toMatchObject({
      ok: false,
      errors: 1,
      warnings: 0,
      documents: 2,
      files: 1,
      projects: [
        {
          root: cwd,
          manifests: [
            {
              id: 'Agent/a',
              kind: 'Agent',
              name: 'a',
              file: join(cwd, 'a.yml'),
              line: 2,
              hash: expect.stringMatching(/^[\w:-]{16,}$/),
            },
          ],
        },
      ],
      diagnostics: [
        {
          severity: 'error',
          code: 'unknown_key',
          file: 'a.yml',
          line: 7,
          column: 1,
          excerpt: { text: 'aproval: never', caretFrom: 0, caretLength: 7 },
        },
      ],
    });
  });

  it('reads standard input, with imports relative to the current folder', async () => {
    const cwd = temporaryProject({ 'tools/t.yml': TOOL });
    const stdin = `${AGENT}import:\n  tools: [./tools/t.yml, ./tools/u.yml]\n`;
    const { code, out } = await validate(['-'], { cwd, stdin });
    expect(code).toBe(2);
    expect(out).toContain('<stdin>:4:26');
    expect(out).toContain('2 manifests in 2 files: 1 error');
    expect((await validate(['-', '-'], { cwd, stdin })).code).toBe(2);
  });

  it('refuses standard input that is too long without reading on', async () => {
    const { code, err } = await validate(['-'], { stdin: new Uint8Array(2 ** 20 + 1) });
    expect(code).toBe(2);
    expect(err).toContain('Standard input is longer than 1,048,576 bytes');
  });

  it('says so when there is nothing to check', async () => {
    const cwd = temporaryProject({ 'x.yml': 'services: {}\n' });
    const nothing = await validate([], { cwd });
    expect(nothing).toMatchObject({ code: 2, out: '' });
    expect(nothing.err).toContain(
      'There is no manifest in the current folder (1 YAML or JSON file searched).',
    );
    expect(JSON.parse((await validate(['--json'], { cwd })).out)).toMatchObject({
      ok: false,
      error: { code: 'usage' },
    });
  });

  it('names the nearest file for one that is missing', async () => {
    const cwd = temporaryProject({ 'agent.yml': AGENT });
    const { code, out } = await validate(['agnet.yml'], { cwd });
    expect(code).toBe(2);
    expect(out).toContain('→ Did you mean "agent.yml"?');
  });

  it('keeps imports inside --root', async () => {
    const cwd = temporaryProject({ 'p/a.yml': `${AGENT}import:\n  tools: [../t.yml]\n`, 't.yml': TOOL });
    expect((await validate(['p/a.yml'], { cwd })).code).toBe(0);
    const inside = await validate(['--root', 'p', 'p/a.yml'], { cwd });
    expect(inside.code).toBe(2);
    expect(inside.out).toContain('"../t.yml" is outside the project (p).');
  });

  it('refuses a --root that is not a folder', async () => {
    const cwd = temporaryProject();
    const missing = await validate(['--root', 'nowhere', '.'], { cwd });
    expect(missing).toMatchObject({ code: 2, out: '' });
    expect(missing.err).toContain("--root 'nowhere' does not exist.");
    writeFileSync(join(cwd, 'file'), '');
    expect((await validate(['--root', 'file', '.'], { cwd })).err).toContain(
      "--root 'file' is not a folder.",
    );
  });

  it('takes environment variables from the Io', async () => {
    const cwd = temporaryProject();
    writeFileSync(join(cwd, 'a.yml'), `kind: Agent\nname: $\{NAME}\n`);
    expect((await validate(['a.yml'], { cwd, env: { NAME: 'x' } })).code).toBe(0);
    expect((await validate(['a.yml'], { cwd })).code).toBe(2);
  });

  it('ends with 130 when it is interrupted', async () => {
    const io = recordedIo({ cwd: temporaryProject({ 'a.yml': AGENT }) });
    io.interrupt();
    expect(await main(['validate'], io)).toBe(130);
    expect(io.out() + io.err()).toBe('');
  });

  it('colors what it prints where color is welcome', async () => {
    const cwd = temporaryProject({ 'a.yml': `${AGENT}dialct: x\n` });
    expect((await validate([], { cwd, color: true })).out).toContain('\u001b[31m');
  });
});

describe('progress', () => {
  it('shows on a terminal after a second, and is wiped away', async () => {
    const io = recordedIo({ terminal: true });
    let files = 0;
    const stop = startProgress(io, () => `Checking… ${files} files`);
    await io.clock.advance(900);
    expect(io.err()).toBe('');
    files = 12;
    await io.clock.advance(200);
    expect(io.err()).toContain('Checking… 12 files');
    await stop();
    expect(io.err().endsWith('\r\u001b[K')).toBe(true);
    expect(io.clock.pending).toBe(0);
  });

  it('shows nothing when the work was quick, and never in a pipe', async () => {
    const quick = recordedIo({ terminal: true });
    await startProgress(quick, () => 'x')();
    const piped = recordedIo();
    const stop = startProgress(piped, () => 'x');
    await piped.clock.advance(5000);
    await stop();
    expect(quick.err() + piped.err()).toBe('');
  });
});
