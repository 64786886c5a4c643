import { execFile } from 'node:child_process';

export interface Printed {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const PATIENCE_MS = 60_000;

/** Runs a program of an example as its reader does: `node FILE` in its folder, on the package as it is built. */
export function runProgram(folder: string, file: string, ...args: readonly string[]): Promise<Printed> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [file, ...args],
      { cwd: folder, timeout: PATIENCE_MS },
      (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
        resolve({ code, stdout, stderr });
      },
    );
  });
}
