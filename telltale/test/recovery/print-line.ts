import { writeSync } from 'node:fs';

const PAUSE_MS = 5;

/**
 * Prints a line of JSON, synchronously: what was printed has left the process before anything else happens in it. Where
 * whoever reads is behind, it waits for him: the pipe may be full, and is not a blocking one.
 */
export function printLine(line: object): void {
  let left = Buffer.from(`${JSON.stringify(line)}\n`);
  while (left.length > 0) {
    try {
      left = left.subarray(writeSync(1, left));
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
    }
  }
}
