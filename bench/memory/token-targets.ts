import { atLeast, type Verdict } from '../agents/verdict.ts';
import { median } from '../parsing/measure.ts';
import type { Agreement } from './agreement.ts';

/** One question, asked in both ways. */
export interface TokenFigures extends Agreement {
  readonly name: string;
  readonly path: string;
  readonly graphTokens: number;
  /** By grep, and then each file that it named. */
  readonly fileTokens: number;
  readonly grepTokens: number;
  readonly files: number;
}

const FEWER = 10;
const LEAST_RECALL = 0.97;

/** `all`: how the graph does on every function that could have been asked for. */
export function judgeTokens(figures: readonly TokenFigures[], all: readonly Agreement[]): readonly Verdict[] {
  const share = (part: (each: Agreement) => number, whole: (each: Agreement) => number) =>
    all.reduce((sum, each) => sum + part(each), 0) / all.reduce((sum, each) => sum + whole(each), 0);
  return [
    atLeast(
      `"where is X defined and who calls it" takes at least ${FEWER} times fewer tokens by the graph (median)`,
      median(figures.map(({ fileTokens, graphTokens }) => fileTokens / graphTokens)),
      FEWER,
      'times',
    ),
    atLeast(
      `of the definitions that the compiler has, the graph names the line of at least ${LEAST_RECALL}`,
      share(
        ({ isDefined }) => (isDefined ? 1 : 0),
        () => 1,
      ),
      LEAST_RECALL,
      `of 1, ${all.length} functions`,
    ),
    atLeast(
      `of the calls that the compiler finds, the graph names the caller of at least ${LEAST_RECALL}`,
      share(
        ({ callers }) => callers,
        ({ calls }) => calls,
      ),
      LEAST_RECALL,
      'of 1',
    ),
  ];
}
