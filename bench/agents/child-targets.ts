import { atMost, type Verdict } from './verdict.ts';

export interface ChildFigures {
  readonly store: 'memory' | 'durable';
  /** From the call to the sub-agent's first request, median and 99th percentile. */
  readonly startMs: number;
  readonly lateMs: number;
  /** The same of a session that nobody calls, in the same run. */
  readonly plainMs: number;
}

const MOST_MS = 1;

/** A durable one waits for two commits of the disk, its call and its first event: told, not judged. */
export const judgeChildren = (figures: readonly ChildFigures[]): readonly Verdict[] =>
  figures.map(({ store, startMs }) =>
    atMost(
      `a sub-agent starts within ${MOST_MS} ms, ${store === 'memory' ? 'in memory' : 'durable'}`,
      startMs,
      MOST_MS,
      'ms',
      store === 'memory',
    ),
  );
