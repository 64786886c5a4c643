import { atLeast, type Verdict } from '../agents/verdict.ts';
import { median } from '../parsing/measure.ts';

/** One question, asked in both ways. */
export interface TokenFigures {
  readonly name: string;
  readonly path: string;
  readonly graphTokens: number;
  /** By grep, and then each file that it named. */
  readonly fileTokens: number;
  readonly grepTokens: number;
  readonly files: number;
  /** The graph's answer names the line where the compiler has the definition. */
  readonly isDefined: boolean;
  /** The compiler's calls, and of how many of them the graph's answer names the caller, and the line. */
  readonly calls: number;
  readonly callers: number;
  readonly lines: number;
}

const FEWER = 10;
const LEAST_RECALL = 0.97;

export function judgeTokens(figures: readonly TokenFigures[]): readonly Verdict[] {
  const total = (pick: (each: TokenFigures) => number) => figures.reduce((sum, each) => sum + pick(each), 0);
  return [
    atLeast(
      `"where is X defined and who calls it" takes at least ${FEWER} times fewer tokens by the graph (median)`,
      median(figures.map(({ fileTokens, graphTokens }) => fileTokens / graphTokens)),
      FEWER,
      'times',
    ),
    atLeast(
      'each definition is named by its line',
      total(({ isDefined }) => (isDefined ? 1 : 0)),
      figures.length,
      `of ${figures.length}`,
    ),
    atLeast(
      `of the calls that the compiler finds, the callers of at least ${LEAST_RECALL * 100} % are named`,
      total(({ callers }) => callers) / total(({ calls }) => calls),
      LEAST_RECALL,
      'of 1',
    ),
  ];
}
