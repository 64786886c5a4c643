import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { runCaptured } from '../launch/run-captured.js';

const nodeRuns = (script: string) => runCaptured(process.execPath, ['-e', script]);
const module = fileURLToPath(new URL('../launch/run-captured.js', import.meta.url));

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** For machines that are busy with other things. */
const PATIENCE = { timeout: 20_000 };

describe('a captured program', PATIENCE, () => {
  test('hands over its exit code and what it wrote to both streams', async () => {
    expect(await nodeRuns("console.log('out'); console.error('err'); process.exitCode = 3")).toEqual({
      code: 3,
      output: expect.stringMatching(/^(out\nerr|err\nout)\n$/),
    });
  });

  test('that a signal ended has 128 and the number of the signal as its code', async () => {
    expect((await nodeRuns("process.kill(process.pid, 'SIGTERM')")).code).toBe(143);
  });

  test('that cannot be started has code 127 and the reason as its output', async () => {
    expect(await runCaptured('/nowhere/at-all', [])).toEqual({
      code: 127,
      output: expect.stringContaining('ENOENT'),
    });
  });

  test('leaves no descendant behind, not even one that holds its output open', async () => {
    const idle = 'setInterval(() => {}, 1000)';
    const { output } = await nodeRuns(
      `const child = require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(idle)}], { stdio: 'inherit' });
       console.log(child.pid);
       child.unref();
       process.exit(0);`,
    );
    const pid = Number(output);
    expect(pid).toBeGreaterThan(1);
    await expect.poll(() => isAlive(pid), PATIENCE).toBe(false);
  });

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)(
    'is ended, however stubborn, when this process gets %s, which then ends with %i',
    async (signal, code) => {
      const folder = mkdtempSync(join(tmpdir(), 'telltale-captured-'));
      try {
        const pidFile = join(folder, 'pid');
        const stubborn = `process.on('${signal}', () => {});
        require('node:fs').writeFileSync(${JSON.stringify(pidFile)}, String(process.pid));
        const parent = process.ppid;
        setInterval(() => process.ppid === parent || process.exit(), 1000);`;
        const script = `import { runCaptured } from ${JSON.stringify(pathToFileURL(module).href)};
        await runCaptured(process.execPath, ['-e', ${JSON.stringify(stubborn)}]);`;
        const runner = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'ignore' });
        await expect
          .poll(() => existsSync(pidFile) && readFileSync(pidFile, 'utf8'), PATIENCE)
          .toMatch(/^\d+$/);
        runner.kill(signal);
        expect(await once(runner, 'exit')).toEqual([code, null]);
        expect(isAlive(Number(readFileSync(pidFile, 'utf8')))).toBe(false);
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
  );
});
