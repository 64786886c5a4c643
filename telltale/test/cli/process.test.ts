import { spawn } from 'node:child_process';
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
});
