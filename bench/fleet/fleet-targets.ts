import { quantile } from '../agents/quantile.ts';
import { atLeast, atMost, type Verdict } from '../agents/verdict.ts';
import type { ContestFigures } from '../workflows/contestant.ts';
import { stepsPerSecond } from '../workflows/workflow-targets.ts';
import type { FailOver } from './fail-over.ts';

export interface FleetFigures {
  /** Rows of one table, which knows no owner. */
  readonly floor: ContestFigures;
  /** Appends to the store of the fleet, without workflows. */
  readonly store: ContestFigures;
  readonly one: ContestFigures;
  readonly slowOne: ContestFigures;
  readonly slowTwo: readonly ContestFigures[];
  readonly peers: readonly { readonly name: string; readonly figures: ContestFigures }[];
  readonly failOver: FailOver;
}

const LEAST_OF_FLOOR = 0.45;
const LEAST_STEPS = 3_000;
const LEAST_OF_PEER: Readonly<Record<string, number>> = { 'DBOS 5.3': 4, 'Restate 1.7': 2 };
const LEAST_OF_TWO = 1.6;
const MOST_FAIL_OVER_MS = 10_000;

export function judgeFleet(figures: FleetFigures): readonly Verdict[] {
  const { floor, store, one, slowOne, slowTwo, peers, failOver } = figures;
  const speed = stepsPerSecond(one);
  const all = [one, slowOne, ...slowTwo];
  const wrong = all.filter(({ expected, ran }) => expected !== ran);
  const two = slowTwo.reduce((sum, each) => sum + stepsPerSecond(each), 0);
  return [
    {
      target: 'every step ran once',
      found: wrong.map(({ expected, ran }) => `${ran} of ${expected}`).join(', ') || 'yes',
      met: wrong.length === 0,
      decides: true,
    },
    atLeast(
      `one worker runs at least ${LEAST_OF_FLOOR} times the steps a second of a bare group-commit loop on the same store`,
      speed / stepsPerSecond(store),
      LEAST_OF_FLOOR,
      '×',
    ),
    ...peers.map(({ name, figures: peer }) =>
      atLeast(
        `at least ${LEAST_OF_PEER[name]} times the steps a second of ${name}`,
        speed / stepsPerSecond(peer),
        LEAST_OF_PEER[name] ?? 1,
        '×',
      ),
    ),
    atLeast(
      `two workers run at least ${LEAST_OF_TWO} times the steps of one, where what they hold is the limit`,
      two / stepsPerSecond(slowOne),
      LEAST_OF_TWO,
      '×',
    ),
    atMost(
      'a killed worker’s runs are with another within 10 s, p99',
      quantile(failOver.takenMs, 0.99),
      MOST_FAIL_OVER_MS,
      'ms',
    ),
    {
      target: 'every run of a killed worker was taken over, and no step ran twice that had ended',
      found: failOver.wrong === '' ? 'yes' : failOver.wrong,
      met: failOver.wrong === '',
      decides: true,
    },
    {
      ...atLeast(
        `one worker runs at least ${LEAST_OF_FLOOR} times the steps a second of bare inserts into one table`,
        speed / stepsPerSecond(floor),
        LEAST_OF_FLOOR,
        '×',
      ),
      decides: false,
    },
    atLeast(`one worker runs ${LEAST_STEPS} steps a second`, speed, LEAST_STEPS, 'steps/s', false),
  ];
}
