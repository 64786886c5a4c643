import { spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { temporaryProject } from '../manifest/temporary-project.ts';

const start = new URL('../../src/cli/start.ts', import.meta.url).href;
const script = `const { start } = await import(${JSON.stringify(start)});
process.exit(await start(process.argv.slice(1)));`;

/** The command line as a process of its own. `onChild` may talk to it. */
const run = (argv: readonly string[], onChild: (child: ReturnType<typeof spawn>) => void = () => {}) =>
  new Promise<{ code: number | null; out: string; err: string }>((resolve, reject) => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', script, '--', ...argv], {
      cwd: temporaryProject(),
      env: { PATH: process.env.PATH ?? '' },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    let out = '';
    let err = '';
    child.stdout.on('data', (chunk) => {
      out += chunk;
    });
    child.stderr.on('data', (chunk) => {
      err += chunk;
    });
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, out, err }));
    onChild(child);
  });

describe('as a process', { timeout: 30_000 }, () => {
  it('prints its version and ends with 0', async () => {
    expect(await run(['--version'], (child) => child.stdin?.end())).toMatchObject({ code: 0, err: '' });
  });

  it('ends quietly when its reader goes away', async () => {
    const { code, err } = await run(['schema', 'Workflow'], (child) => {
      child.stdin?.end();
      child.stdout?.destroy();
    });
    expect({ code, err }).toEqual({ code: 0, err: '' });
  });

  it('ends with 130 when it is interrupted while it waits for standard input', async () => {
    const { code, err } = await run(['validate', '-'], (child) => {
      // More than a pipe holds: once all of it is gone the command is reading.
      child.stdin?.write(`kind: Agent # ${'x'.repeat(500_000)}\n`, () => child.kill('SIGINT'));
    });
    expect({ code, err }).toEqual({ code: 130, err: '' });
  });

  it('has all of the packages that it loads quicker, with zod’s languages loaded when they are asked for', async () => {
    const quickStart = new URL('../../bin/quick-start.js', import.meta.url);
    const script = `
      const { quickStart } = await import(${JSON.stringify(quickStart.href)});
      const { registerHooks } = await import('node:module');
      quickStart(new URL('file:///nowhere/'));
      const loaded = [];
      registerHooks?.({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
      const { z } = await import('zod');
      const locales = Object.keys(z.locales);
      const early = loaded.filter((url) => url.includes('/locales/')).length;
      const words = z.string().safeParse(1, { error: z.locales.de().localeError }).error.issues[0].message;
      const { parse } = await import('yaml');
      const { evaluate } = await import('@marcbachmann/cel-js');
      const value = [parse('a: [1]'), String(evaluate('1 + 1'))];
      console.log(JSON.stringify({ locales, early, words, value }));`;
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      cwd: fileURLToPath(new URL('../..', import.meta.url)),
      encoding: 'utf8',
    });
    expect(stderr).toBe('');
    const { locales: own } = (await import('zod')).z;
    expect(JSON.parse(stdout)).toEqual({
      locales: Object.keys(own),
      early: 1, // its own language
      words: expect.stringMatching(/^Ungültige Eingabe/),
      value: [{ a: [1] }, '2'],
    });
  });
});
