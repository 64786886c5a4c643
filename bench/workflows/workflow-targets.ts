import { quantile } from '../agents/quantile.ts';
import { atLeast, atMost, type Verdict } from '../agents/verdict.ts';
import type { ContestFigures } from './contestant.ts';

export const OURS = 'telltale';
export const FLOOR = 'bare group commit';
export const STORE_FLOOR = 'bare loop on our store';

export interface WorkflowFigures extends ContestFigures {
  readonly name: string;
  /** `other`: ours in another way, which is told and not judged. */
  readonly kind: 'ours' | 'other' | 'floor' | 'store' | 'peer';
}

const LEAST_OF_FLOOR = 0.45;
const LEAST_PER_SECOND = 30_000;
const MOST_START_MS = 1;

export const stepsPerSecond = ({ perSecond }: ContestFigures): number => quantile(perSecond, 0.5);

/**
 * Ours against the best peer; a step that did not run, or ran twice, is a miss. The floors are told and not judged: they
 * know no definition and no tool, and the one that is two rows in one table knows no owner either.
 */
export function judgeWorkflows(figures: readonly WorkflowFigures[]): readonly Verdict[] {
  const ours = figures.find(({ kind }) => kind === 'ours');
  const floor = figures.find(({ kind }) => kind === 'floor');
  const store = figures.find(({ kind }) => kind === 'store');
  const peers = figures.filter(({ kind }) => kind === 'peer');
  const speed = ours === undefined ? Number.NaN : stepsPerSecond(ours);
  const wrong = figures.filter(({ expected, ran }) => expected !== ran);
  const verdicts: Verdict[] = [
    {
      target: 'every step ran once',
      found:
        ours === undefined
          ? 'ours was not measured'
          : wrong.map(({ name, expected, ran }) => `${name} ran ${ran} of ${expected}`).join(', ') || 'yes',
      met: ours !== undefined && wrong.length === 0,
      decides: true,
    },
  ];
  if (peers.length > 0) {
    const best = peers.reduce((one, other) => (stepsPerSecond(other) > stepsPerSecond(one) ? other : one));
    verdicts.push(
      atLeast(
        `at least as many steps a second as ${best.name}, the best peer`,
        speed / stepsPerSecond(best),
        1,
        '×',
      ),
    );
  }
  if (store !== undefined)
    verdicts.push({
      ...atLeast(
        `at least ${LEAST_OF_FLOOR} times the steps a second of a bare loop on the same store`,
        speed / stepsPerSecond(store),
        LEAST_OF_FLOOR,
        '×',
      ),
      decides: false,
    });
  if (floor !== undefined)
    verdicts.push(
      {
        ...atLeast(
          `at least ${LEAST_OF_FLOOR} times the steps a second of a bare group commit`,
          speed / stepsPerSecond(floor),
          LEAST_OF_FLOOR,
          '×',
        ),
        decides: false,
      },
      atMost(
        'a workflow’s first step begins after no longer than two bare commits take',
        quantile(ours?.startMs ?? [], 0.5) / quantile(floor.startMs, 0.5),
        1,
        '×',
        false,
      ),
    );
  verdicts.push(
    {
      ...atLeast(
        `at least ${LEAST_PER_SECOND.toLocaleString('en')} durable steps a second`,
        speed,
        LEAST_PER_SECOND,
        'a second',
      ),
      decides: false,
    },
    atMost(
      `a workflow’s first step begins within ${MOST_START_MS} ms, durable, median`,
      quantile(ours?.startMs ?? [], 0.5),
      MOST_START_MS,
      'ms',
      false,
    ),
  );
  return verdicts;
}
