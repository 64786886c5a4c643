import { beforeEach } from 'vitest';

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

/** Skips the tests of a file, each by its name and with the reason, where something is not installed. */
export function needsProgram(isThere: boolean, missing: Missing): void {
  beforeEach(({ task, skip }) => {
    if (isThere) return;
    task.meta.missing = missing;
    skip(`${missing.what}: ${missing.mend}`);
  });
}
