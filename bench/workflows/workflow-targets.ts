import { atLeast, type Verdict } from '../agents/verdict.ts';
import { median } from '../parsing/measure.ts';
import type { ContestFigures } from './contestant.ts';

export const OURS = 'telltale';

export interface WorkflowFigures extends ContestFigures {
  readonly name: string;
  readonly isPeer: boolean;
}

export const stepsPerSecond = ({ perSecond }: ContestFigures): number => median(perSecond);

/** Ours has to be ahead of every peer. A step that did not run, or ran twice, is a miss. */
export function judgeWorkflows(figures: readonly WorkflowFigures[]): readonly Verdict[] {
  const ours = figures.find(({ isPeer }) => !isPeer);
  const wrong = figures.filter(({ expected, ran }) => expected !== ran);
  const ran: Verdict = {
    target: 'every step ran once',
    found:
      ours === undefined
        ? 'ours was not measured'
        : wrong.map((each) => `${each.name} ran ${each.ran} of ${each.expected}`).join(', ') || 'yes',
    met: ours !== undefined && wrong.length === 0,
  };
  const speed = ours === undefined ? Number.NaN : stepsPerSecond(ours);
  const ahead = figures
    .filter(({ isPeer }) => isPeer)
    .map((peer) => atLeast(`more durable steps/s than ${peer.name}`, speed / stepsPerSecond(peer), 1, '×'));
  return [ran, ...ahead];
}
