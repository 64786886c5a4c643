/** What one stage of the check found. Each passed test or check counts once, and so does each failure. */
export interface StageResult {
  readonly passed: number;
  /** A line for each thing that failed. */
  readonly failures: readonly string[];
  /** A line for each test that could not run here, with the reason and what mends it. */
  readonly skipped?: readonly string[];
  /** Everything the stage printed; shown when it failed. */
  readonly output: string;
  /** What else is worth a word behind the stage's name. */
  readonly note?: string;
  /** What is printed even when the stage passed. */
  readonly report?: string;
}

export interface StageReport extends StageResult {
  readonly stage: string;
  readonly tookMs: number;
}

/** A program that is one check: its exit code says whether it passed. */
export const oneCheck = (
  what: string,
  run: { readonly code: number; readonly output: string },
): StageResult =>
  run.code === 0
    ? { passed: 1, failures: [], output: run.output }
    : { passed: 0, failures: [`${what} (exit code ${run.code})`], output: run.output };

export function together(results: readonly StageResult[]): StageResult {
  const skipped = results.flatMap((result) => result.skipped ?? []);
  return {
    passed: results.reduce((sum, { passed }) => sum + passed, 0),
    failures: results.flatMap(({ failures }) => failures),
    ...(skipped.length === 0 ? {} : { skipped }),
    output: results
      .map(({ output }) => output)
      .filter((output) => output !== '')
      .join('\n'),
  };
}

/** Where nothing may be left out: what could not run has failed. */
export const strict = ({ skipped = [], ...result }: StageResult): StageResult => ({
  ...result,
  failures: [...result.failures, ...skipped.map((test) => `did not run: ${test}`)],
});

/** The end of the check: what failed, what could not run, and as the very last line the numbers. */
export function closingLines(reports: readonly StageReport[]): readonly string[] {
  const lines = (of: (report: StageReport) => readonly string[]) =>
    reports.flatMap((report) => of(report).map((line) => `  ${report.stage}: ${line}`));
  const failed = lines(({ failures }) => failures);
  const skipped = lines((report) => report.skipped ?? []);
  const passed = reports.reduce((sum, report) => sum + report.passed, 0);
  return [
    ...(skipped.length === 0 ? [] : ['Skipped:', ...skipped]),
    ...(failed.length === 0 ? [] : ['Failed:', ...failed]),
    '',
    `${passed} passed, ${failed.length} failed${skipped.length === 0 ? '' : `, ${skipped.length} skipped`}`,
  ];
}
