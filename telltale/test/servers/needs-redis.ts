import { beforeEach } from 'vitest';
import { findProgram } from './find-program.ts';

/** What a test that did not run says to the check (`scripts/check/vitest-report.ts`). */
export interface Missing {
  readonly what: string;
  /** The command that mends it. */
  readonly mend: string;
}

declare module 'vitest' {
  interface TaskMeta {
    missing?: Missing;
  }
}

export const hasRedis: boolean = findProgram('redis-server') !== undefined;

/** Skips the tests of a file, each by its name and with the reason, where there is no Redis. */
export function needsRedis(): void {
  beforeEach(({ task, skip }) => {
    if (hasRedis) return;
    const missing = {
      what: 'redis-server is not installed',
      mend: 'apt-get install redis-server (or: brew install redis)',
    };
    task.meta.missing = missing;
    skip(`${missing.what}: ${missing.mend}`);
  });
}
