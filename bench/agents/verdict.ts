/** One target, and whether it was met. What only holds on a quiet machine is printed, but decides nothing. */
export interface Verdict {
  readonly target: string;
  readonly found: string;
  readonly met: boolean;
  readonly decides: boolean;
}

export const atMost = (
  target: string,
  found: number,
  most: number,
  unit: string,
  decides = true,
): Verdict => ({
  target,
  found: `${short(found)} ${unit}`,
  met: found <= most,
  decides,
});

export const atLeast = (
  target: string,
  found: number,
  least: number,
  unit: string,
  decides = true,
): Verdict => ({
  target,
  found: `${short(found)} ${unit}`,
  met: found >= least,
  decides,
});

const short = (value: number) =>
  value >= 100 ? Math.round(value).toLocaleString('en-US') : value.toFixed(value >= 10 ? 1 : 2);

/** Prints them, the deciding ones first, and gives the exit code. */
export function printVerdicts(verdicts: readonly Verdict[], noFail: boolean): number {
  const line = ({ target, found, met }: Verdict) => console.log(`${met ? '✓' : '✗'} ${target}: ${found}`);
  const deciding = verdicts.filter(({ decides }) => decides);
  const others = verdicts.filter(({ decides }) => !decides);
  console.log('\nTargets, judged by ratios within this run and by what does not depend on the machine:');
  deciding.forEach(line);
  if (others.length > 0) {
    console.log('\nFigures for a quiet machine, which decide nothing here:');
    others.forEach(line);
  }
  return exitCode(verdicts, noFail);
}

export const exitCode = (verdicts: readonly Verdict[], noFail: boolean): 0 | 1 =>
  noFail || verdicts.every(({ met, decides }) => met || !decides) ? 0 : 1;
