import { median } from '../parsing/measure.ts';
import type { Recovery, Stretch } from './growth.ts';
import { atMost, type Verdict } from './verdict.ts';

export interface GrowthFigures {
  readonly stretches: readonly Stretch[];
  /** Shortest log first. */
  readonly recoveries: readonly (readonly Recovery[])[];
}

const MOST_GROWTH = 1.1;
/** As in the bench `linear`: what noise can do to a ratio, and a quadratic cost far exceeds. */
const MOST_TO_LINEAR = 1.5;

export const perEvent = (taken: readonly Recovery[]): number =>
  median(taken.map(({ cpuMs, events }) => (cpuMs * 1000) / events));

/** Whether a turn has not become dearer; a miss is worth a second look. */
export const staysFlat = (stretches: readonly Stretch[]): boolean =>
  judgeGrowth({ stretches, recoveries: [] }).every(({ met }) => met);

/** The targets of growth, as far as what was measured can decide them. */
export function judgeGrowth({ stretches, recoveries }: GrowthFigures): readonly Verdict[] {
  const verdicts: Verdict[] = [];
  const [early, late] = [stretches[1], stretches.at(-1)];
  if (early !== undefined && late !== undefined && late !== early)
    verdicts.push(
      atMost(
        `a turn of the last stretch costs at most ${MOST_GROWTH} times one of the second`,
        late.cpuUs / early.cpuUs,
        MOST_GROWTH,
        'times',
      ),
    );
  const [short, long] = [recoveries[0], recoveries.at(-1)];
  if (short !== undefined && long !== undefined && long !== short)
    verdicts.push(
      atMost(
        `recovery costs at most ${MOST_TO_LINEAR} times as much an event with the longest log as with the shortest`,
        perEvent(long) / perEvent(short),
        MOST_TO_LINEAR,
        'times',
      ),
    );
  return verdicts;
}
