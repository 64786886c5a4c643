import type { Comparison } from '../../telltale/test/memory/oracle/compare.ts';
import { atLeast, atMost, type Verdict } from '../agents/verdict.ts';

const LEAST_OF_DECLARATIONS = 97;
const LEAST_OF_IMPORTS = 99;

/** Recall and precision, of declarations and of imports. */
export const judgeCorrectness = (name: string, { declarations, imports }: Comparison): readonly Verdict[] => {
  const shares = (what: string, { recall, precision }: Comparison['imports'], least: number) => [
    atLeast(`${name}, ${what}: recall of at least ${least} %`, recall * 100, least, '%'),
    atLeast(`${name}, ${what}: precision of at least ${least} %`, precision * 100, least, '%'),
  ];
  return [
    ...shares('declarations', declarations, LEAST_OF_DECLARATIONS),
    ...shares('imports', imports, LEAST_OF_IMPORTS),
  ];
};

/** Of imports that lead from file to file in the graph. */
export const judgeEdges = (
  name: string,
  { recall, precision }: Comparison['imports'],
): readonly Verdict[] => [
  atLeast(`${name}, edges: recall of at least ${LEAST_OF_IMPORTS} %`, recall * 100, LEAST_OF_IMPORTS, '%'),
  atLeast(
    `${name}, edges: precision of at least ${LEAST_OF_IMPORTS} %`,
    precision * 100,
    LEAST_OF_IMPORTS,
    '%',
  ),
];

const MOST_OVER_BARE = 2;
const LEAST_PER_SECOND = 250;

export interface ParseFigures {
  readonly files: number;
  /** CPU milliseconds for all files, medians. */
  readonly bare: number;
  readonly ours: number;
  readonly compiler: number;
}

export const judgeParsing = ({ files, bare, ours }: ParseFigures): readonly Verdict[] => {
  const perSecond = (files / ours) * 1000;
  return [
    atMost(
      `reading a file takes at most ${MOST_OVER_BARE} times a bare parse of it`,
      ours / bare,
      MOST_OVER_BARE,
      'times',
    ),
    {
      ...atLeast(`at least ${LEAST_PER_SECOND} files a second`, perSecond, LEAST_PER_SECOND, 'files/s'),
      decides: false,
    },
  ];
};
