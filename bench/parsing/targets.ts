import type { Verdict } from '../agents/verdict.ts';
import type { Growth } from './linear.ts';

/** One line of a measurement: what a contestant needed and found at one chunk size. */
export interface Row {
  readonly name: string;
  readonly chunk: number;
  readonly megabytesPerSecond: number;
  /** Its CPU time divided by ours in the same round; the median over the rounds. */
  readonly timeToOurs: number;
  readonly timeToOursRange: readonly [low: number, high: number];
  /** Bodies that came out as they were put in, and bodies that nobody wrote. */
  readonly intact: number;
  readonly phantom: number;
}

export interface Judged {
  readonly rows: readonly Row[];
  readonly ours: string;
  /** htmlparser2 with its defaults. */
  readonly peer: string;
  readonly bodies: number;
  /** The hash of the events for each way of cutting the transcript. */
  readonly fingerprints: Readonly<Record<string, string>>;
  /** Absent where it was not measured. */
  readonly growths?: readonly Growth[];
}

/** The targets of the parser. A contestant or chunk size that was left out is not judged. */
export function judge({ rows, ours, peer, bodies, fingerprints, growths }: Judged): readonly Verdict[] {
  const verdicts: Verdict[] = [];
  for (const own of rows.filter(({ name }) => name === ours)) {
    const where = `at ${own.chunk} characters a chunk`;
    const rival = rows.find(({ name, chunk }) => name === peer && chunk === own.chunk);
    if (rival)
      verdicts.push({
        target: `not behind ${peer} ${where}`,
        found: `${rival.timeToOurs.toFixed(2)} × its speed`,
        met: rival.timeToOurs >= 1,
      });
    verdicts.push({
      target: `every body intact and none invented ${where}`,
      found: `${own.intact} of ${bodies}, ${own.phantom} invented`,
      met: own.intact === bodies && own.phantom === 0,
    });
  }
  const hashes = new Set(Object.values(fingerprints));
  verdicts.push({
    target: `the same events for ${Object.keys(fingerprints).join(', ')}`,
    found: hashes.size === 1 ? 'one hash' : `${hashes.size} different hashes`,
    met: hashes.size === 1,
  });
  if (growths !== undefined) {
    const failed = growths.filter(({ isLinear }) => !isLinear);
    verdicts.push({
      target: 'linear on hostile input',
      found:
        failed.length === 0 && growths.length > 0
          ? `all ${growths.length} families`
          : `not ${failed.map(({ name }) => name).join('; ')}`,
      met: failed.length === 0 && growths.length > 0,
    });
  }
  return verdicts;
}
