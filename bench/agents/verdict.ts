/** One target, and whether it was met. */
export interface Verdict {
  readonly target: string;
  readonly found: string;
  readonly met: boolean;
}

export const atMost = (target: string, found: number, most: number, unit: string): Verdict => ({
  target,
  found: `${short(found)} ${unit}`,
  met: found <= most,
});

export const atLeast = (target: string, found: number, least: number, unit: string): Verdict => ({
  target,
  found: `${short(found)} ${unit}`,
  met: found >= least,
});

const short = (value: number) =>
  value >= 100 ? Math.round(value).toLocaleString('en-US') : value.toFixed(value >= 10 ? 1 : 2);

/** Prints the verdicts and returns the exit code. */
export function printVerdicts(verdicts: readonly Verdict[], noFail: boolean): number {
  console.log('\nTargets:');
  for (const { target, found, met } of verdicts) console.log(`${met ? '✓' : '✗'} ${target}: ${found}`);
  return exitCode(verdicts, noFail);
}

export const exitCode = (verdicts: readonly Verdict[], noFail: boolean): 0 | 1 =>
  noFail || verdicts.every(({ met }) => met) ? 0 : 1;
