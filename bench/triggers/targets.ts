import { atLeast, atMost, type Verdict } from '../agents/verdict.ts';

/** CPU time of one change, in µs. */
export interface TriggerFigures {
  readonly triggers: number;
  /** Triggers that a change sets off, on average. */
  readonly fired: number;
  readonly ours: number;
  readonly naive: number;
  /** Undefined where it was left out. */
  readonly peer: number | undefined;
}

const JUDGED_AT = 10_000;
const MOST_US = 5;
const LEAST_OVER_NAIVE = 200;
const LEAST_OVER_PEER = 10_000;

export const judgeTriggers = (figures: readonly TriggerFigures[]): readonly Verdict[] =>
  figures.flatMap(({ triggers, ours, naive, peer }) => {
    if (triggers !== JUDGED_AT) return [];
    const at = `at ${number(triggers)} triggers`;
    return [
      atLeast(`${at}, ${LEAST_OVER_NAIVE} times as quick as a loop`, naive / ours, LEAST_OVER_NAIVE, 'times'),
      ...(peer === undefined
        ? []
        : [
            atLeast(
              `${at}, ${number(LEAST_OVER_PEER)} times as quick as json-rules-engine 7`,
              peer / ours,
              LEAST_OVER_PEER,
              'times',
            ),
          ]),
      atMost(`${at}, a change takes at most ${MOST_US} µs`, ours, MOST_US, 'µs', false),
    ];
  });

const number = (value: number) => value.toLocaleString('en-US');
