/**
 * How often a property runs: CHECK_RUNS times as often, to search longer than the check does. `vitest.config.ts` gives
 * each test as much more time.
 */
export const moreRuns = (runs: number): number => runs * Number(process.env.CHECK_RUNS ?? 1);
