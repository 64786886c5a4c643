import { moreRuns } from '../more-runs.ts';

const PATIENCE_MS = 20_000;
/** For tests that start threads and processes: a busy machine takes its time. */
export const PATIENT = { timeout: moreRuns(30_000) } as const;
const PAUSE_MS = 5;

/** Tries until it no longer throws: for what another thread or process does. */
export async function eventually<T>(attempt: () => T | Promise<T>): Promise<T> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}
