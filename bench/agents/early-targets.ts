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

export const turnLag = (turn: EarlyTurn): number => turn.endedAt - idealEnd(turn);

/** The targets of early actions, as far as what was measured can decide them. */
export function judgeEarly({ start, turns = [] }: EarlyFigures): readonly Verdict[] {
  const verdicts: Verdict[] = [];
  if (start !== undefined) {
    const [own, bare] = [quantile(start.starts, 0.99), quantile(start.commits, 0.99)];
    verdicts.push(
      atMost('an action starts within a bare commit’s p99 + 0.5 ms (p99)', own - bare, 0.5, 'ms above it'),
      atMost('an action starts within 1 ms (p99)', own, 1, 'ms', false),
    );
  }
  for (const { chain, taken } of turns) {
    const what = chain === 1 ? 'one tool' : `a chain of ${chain} tools`;
    verdicts.push(
      atMost(`a turn with ${what} ends at most 5 ms after the ideal`, median(taken.map(turnLag)), 5, 'ms'),
    );
    const early = taken.every(
      (turn) => (turn.tools[0]?.from ?? Number.POSITIVE_INFINITY) < turn.streamEndedAt,
    );
    const inside = taken.every((turn) => turn.tools.length === chain);
    verdicts.push({
      target: `${what} started before the response ended, all in one turn`,
      found: early && inside ? `in all ${taken.length} runs` : 'not in all runs',
      met: early && inside,
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
