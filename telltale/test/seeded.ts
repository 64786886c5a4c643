import fc from 'fast-check';

/** The check's, one for each commit (`scripts/check/seed.ts`). Without it, by hand, every run tries something else. */
const { CHECK_SEED } = process.env;
if (CHECK_SEED !== undefined) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(CHECK_SEED) });
