import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** A contestant that does not come through in this time is given up. */
const PATIENCE_MS = 600_000;
const CHILD = fileURLToPath(new URL('./child.ts', import.meta.url));

/** Runs one measurement in a fresh process. Rejects with what the process said where it fails. */
export const runChild = (file: string, measurement: string, options: object): Promise<unknown> =>
  runNode(['--expose-gc', CHILD, file, measurement, JSON.stringify(options)]);

/** Runs a program on this Node; what it prints last is JSON. Its stderr is heard where it fails, or `inherit`ed. */
export function runNode(
  args: readonly string[],
  cwd?: string,
  errors: 'pipe' | 'inherit' = 'pipe',
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, {
      stdio: ['ignore', 'pipe', errors],
      timeout: PATIENCE_MS,
      ...(cwd === undefined ? {} : { cwd }),
    });
    let out = '';
    let said = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      out += text;
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    child.on('error', reject);
    child.on('close', (code, signal) => {
      const last = out.trimEnd().split('\n').at(-1) ?? '';
      if (code !== 0)
        return reject(new Error(`${signal ?? `exit code ${code}`}: ${said.trim().slice(-2000)}`));
      try {
        resolve(JSON.parse(last));
      } catch {
        reject(new Error(`No figures came out: ${last.slice(0, 500)}`));
      }
    });
  });
}
