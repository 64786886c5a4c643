import { atMost, type Verdict } from '../agents/verdict.ts';
import type { AppendFigures } from './appends.ts';
import type { TurnFigures } from './turns.ts';

export interface GrowthFigures {
  readonly turns?: TurnFigures;
  readonly appends: readonly AppendFigures[];
}

const MOST_GROWTH = 1.2;

export const judgeGrowth = ({ turns, appends }: GrowthFigures): readonly Verdict[] => [
  ...(turns === undefined
    ? []
    : [
        atMost(
          `a turn at 3,000 turns costs at most ${MOST_GROWTH} × one at 30`,
          turns.ratio,
          MOST_GROWTH,
          '×',
        ),
      ]),
  ...appends.map(({ name, ratio }) =>
    atMost(
      `an append to a large store in ${name} takes at most ${MOST_GROWTH} × one to a small store`,
      ratio,
      MOST_GROWTH,
      '×',
    ),
  ),
];
