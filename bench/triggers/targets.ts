import { atLeast, type Verdict } from '../agents/verdict.ts';

/** Microseconds of CPU time of one change. */
export interface TriggerFigures {
  readonly triggers: number;
  /** Triggers that a change fires, on average. */
  readonly fired: number;
  readonly ours: number;
  readonly naive: number;
}

export const JUDGED_AT = 10_000;
const LEAST_OVER_NAIVE = 200;

export const judgeTriggers = (figures: readonly TriggerFigures[]): readonly Verdict[] =>
  figures
    .filter(({ triggers }) => triggers === JUDGED_AT)
    .map(({ ours, naive }) =>
      atLeast(
        `at ${JUDGED_AT.toLocaleString('en-US')} triggers, at least ${LEAST_OVER_NAIVE} × as fast as a naive loop`,
        naive / ours,
        LEAST_OVER_NAIVE,
        '×',
      ),
    );
