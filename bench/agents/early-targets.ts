import { median } from '../parsing/measure.ts';
import type { StartLatencies } from './action-start.ts';
import { chainLag, type EarlyTurn, idealEnd } from './early-turn.ts';
import { quantile } from './quantile.ts';
import { atMost, type Verdict } from './verdict.ts';

export interface EarlyFigures {
  readonly start?: StartLatencies;
  /** By the number of actions in the chain. */
  readonly turns?: readonly { readonly chain: number; readonly taken: readonly EarlyTurn[] }[];
}

/** Whether the deciding target of the start is met; a miss is worth a second, longer look. */
export const startsInTime = (start: StartLatencies): boolean =>
  judgeEarly({ start }).every(({ met, decides }) => met || !decides);

export const turnLag = (turn: EarlyTurn): number => turn.endedAt - idealEnd(turn);

/** The targets of early actions, as far as what was measured can decide them. */
export function judgeEarly({ start, turns = [] }: EarlyFigures): readonly Verdict[] {
  const verdicts: Verdict[] = [];
  if (start !== undefined) {
    const [own, bare] = [quantile(start.starts, 0.99), quantile(start.commits, 0.99)];
    verdicts.push(
      atMost('an action starts within a bare commit’s p99 + 0.5 ms (p99)', own - bare, 0.5, 'ms above it'),
      atMost('an action starts within 1 ms (p99)', own, 1, 'ms', false),
      atMost(
        'an action starts within a bare commit’s median + 0.5 ms (median)',
        median(start.starts) - median(start.commits),
        0.5,
        'ms above it',
        false,
      ),
    );
  }
  for (const { chain, taken } of turns) {
    const what = chain === 1 ? 'one tool' : `a chain of ${chain} tools`;
    verdicts.push(
      atMost(`a turn with ${what} ends at most 5 ms after the ideal`, median(taken.map(turnLag)), 5, 'ms'),
    );
    const early = taken.filter(
      ({ tools, streamEndedAt }) => (tools[0]?.from ?? streamEndedAt) < streamEndedAt,
    );
    verdicts.push({
      // A disk that stalls for longer than the response lasts is not the runtime's doing: most of the runs count.
      target: `${what} started before the response ended, in most of the runs`,
      found: `${early.length} of ${taken.length}`,
      met: early.length * 2 > taken.length,
      decides: true,
    });
    verdicts.push(
      atMost(
        `the last result of ${what} is in hand at most 5 ms late`,
        median(taken.map(chainLag)),
        5,
        'ms',
        false,
      ),
    );
  }
  return verdicts;
}
