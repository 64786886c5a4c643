import type { Run } from './run.ts';

/** A try that must not be made twice is on the log with its end, or is left to whoever goes on. */
export function leaveOnce(run: Run): void {
  run.leaveOnce?.();
  run.leaveOnce = undefined;
}
