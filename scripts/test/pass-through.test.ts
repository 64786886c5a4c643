import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { passThrough } from '../../telltale/bin/pass-through.js';

const module = new URL('../../telltale/bin/pass-through.js', import.meta.url).href;
const runs = (script: string) => passThrough(process.execPath, ['-e', script]);

/** A program in front of another one, both without a terminal; resolves once the inner one has said that it runs. */
async function startOuter(inner: string) {
  const script = `import { passThrough } from ${JSON.stringify(module)};
    process.exitCode = await passThrough(process.execPath, ['-e', ${JSON.stringify(inner)}]);`;
  const outer = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
    cwd: fileURLToPath(new URL('.', import.meta.url)),
  });
  await once(outer.stdout, 'data');
  return outer;
}

describe('a program run in the place of another', { timeout: 20_000 }, () => {
  test('hands over its exit code', async () => {
    expect(await runs('')).toBe(0);
    expect(await runs('process.exitCode = 3')).toBe(3);
  });

  test('that a signal ended has 128 and the number of the signal as its code', async () => {
    expect(await runs("process.kill(process.pid, 'SIGKILL')")).toBe(137);
  });

  test('that cannot be started is an error for the caller', async () => {
    await expect(passThrough('/nowhere/at-all', [])).rejects.toThrow('ENOENT');
  });

  test.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('gets %s, and the one in front ends with %i', async (signal, code) => {
    const outer = await startOuter("console.log('up'); setTimeout(() => {}, 15_000)");
    outer.kill(signal);
    expect(await once(outer, 'exit')).toEqual([code, null]);
  });

  test('may take its time to end after a signal, and still decides on the code', async () => {
    const outer = await startOuter(
      "process.on('SIGTERM', () => setTimeout(() => process.exit(7), 200)); console.log('up'); setTimeout(() => {}, 15_000)",
    );
    outer.kill('SIGTERM');
    expect(await once(outer, 'exit')).toEqual([7, null]);
  });
});
