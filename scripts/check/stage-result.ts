/** What one stage of the check found. Each passed test or check counts once, and so does each failure. */
export interface StageResult {
  readonly passed: number;
  /** A line for each thing that failed. */
  readonly failures: readonly string[];
  /** Everything the stage printed; shown when it failed. */
  readonly output: string;
  /** What else is worth a word behind the stage's name. */
  readonly note?: string;
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
  return {
    passed: results.reduce((sum, { passed }) => sum + passed, 0),
    failures: results.flatMap(({ failures }) => failures),
    output: results
      .map(({ output }) => output)
      .filter((output) => output !== '')
      .join('\n'),
  };
}

/** The end of the check: what failed, and as the very last line the two numbers. */
export function closingLines(reports: readonly StageReport[]): readonly string[] {
  const failed = reports.flatMap(({ stage, failures }) =>
    failures.map((failure) => `  ${stage}: ${failure}`),
  );
  const passed = reports.reduce((sum, report) => sum + report.passed, 0);
  return [
    ...(failed.length === 0 ? [] : ['Failed:', ...failed]),
    '',
    `${passed} passed, ${failed.length} failed`,
  ];
}
