import { atMost, type Verdict } from '../agents/verdict.ts';
import type { MixFigures } from './turn-costs.ts';

/** What noise can do to the ratio of two medians. */
const MOST_GROWTH = 1.1;

/** Of the mixes that are not used, the largest decides: in plain turns and in those that change the metadata. */
export function judgeFeeds(figures: readonly MixFigures[]): readonly Verdict[] {
  const plain = figures.filter(({ kind }) => kind === 'unused');
  const changing = figures.filter(({ kind }) => kind === 'unused, metadata changes');
  return [plain, changing].map((mixes, index) => {
    const most = mixes.reduce<MixFigures | undefined>(
      (so, mix) => (so === undefined || mix.feeds > so.feeds ? mix : so),
      undefined,
    );
    const what = index === 0 ? 'a turn' : 'a turn that changes the metadata';
    return atMost(
      `${what} with ${most?.feeds.toLocaleString('en-US') ?? 'no'} feeds that are not used costs at most ${MOST_GROWTH} times one without`,
      most?.ratio ?? Number.NaN,
      MOST_GROWTH,
      'times',
    );
  });
}
