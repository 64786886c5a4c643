import { atLeast, type Verdict } from '../agents/verdict.ts';
import type { ContestFigures } from '../workflows/contestant.ts';
import { stepsPerSecond } from '../workflows/workflow-targets.ts';
import type { FailOver } from './fail-over.ts';

export interface FleetFigures {
  readonly one: ContestFigures;
  readonly peers: readonly { readonly name: string; readonly figures: ContestFigures }[];
  /** Measured for `docs/scale.md`: only their correctness is judged. */
  readonly scale?: {
    readonly slowOne: ContestFigures;
    readonly slowTwo: readonly ContestFigures[];
    readonly failOver: FailOver;
  };
}

/** One worker has to be ahead of every peer. A step that did not run, or ran twice, is a miss. */
export function judgeFleet({ one, peers, scale }: FleetFigures): readonly Verdict[] {
  const all = [one, ...peers.map(({ figures }) => figures)];
  if (scale !== undefined) all.push(scale.slowOne, ...scale.slowTwo);
  const wrong = all.filter(({ expected, ran }) => expected !== ran);
  const verdicts: Verdict[] = [
    {
      target: 'every step ran once',
      found: wrong.map(({ expected, ran }) => `${ran} of ${expected}`).join(', ') || 'yes',
      met: wrong.length === 0,
    },
    ...peers.map(({ name, figures }) =>
      atLeast(`more durable steps/s than ${name}`, stepsPerSecond(one) / stepsPerSecond(figures), 1, '×'),
    ),
  ];
  if (scale !== undefined)
    verdicts.push({
      target: 'another worker took over every run of a killed worker, and no finished step ran again',
      found: scale.failOver.wrong === '' ? 'yes' : scale.failOver.wrong,
      met: scale.failOver.wrong === '',
    });
  return verdicts;
}
