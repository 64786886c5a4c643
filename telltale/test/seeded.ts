import fc from 'fast-check';
import { moreRuns } from './more-runs.ts';

/** The check's, one for each commit (`scripts/check/seed.ts`). Without it, by hand, every run tries something else. */
const { CHECK_SEED } = process.env;
const seed = CHECK_SEED === undefined ? {} : { seed: Number(CHECK_SEED) };
/** What fast-check takes for a property that asks for no number of runs. */
const DEFAULT_RUNS = 100;
fc.configureGlobal({ ...fc.readConfigureGlobal(), numRuns: moreRuns(DEFAULT_RUNS), ...seed });
