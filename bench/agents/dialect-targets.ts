import { atMost, type Verdict } from './verdict.ts';
import type { Dialect } from './write-agent.ts';

export interface DialectFigures {
  readonly dialect: Dialect;
  /** Of one step, median. */
  readonly cpuUs: number;
}

const MOST_TO_TAGS = 1.3;

/** Native calls may not cost much more than the tags do. `step` is for workflows that a daemon drives: told, not judged. */
export function judgeDialects(figures: readonly DialectFigures[]): readonly Verdict[] {
  const cost = (wanted: Dialect) => figures.find(({ dialect }) => dialect === wanted)?.cpuUs ?? Number.NaN;
  const toTags = (dialect: Dialect, decides: boolean) =>
    atMost(
      `a step in the dialect ${dialect} costs at most ${MOST_TO_TAGS} times one in tags`,
      cost(dialect) / cost('tags'),
      MOST_TO_TAGS,
      'times',
      decides,
    );
  return [toTags('tools', true), toTags('step', false)];
}
