import { atMost, type Verdict } from '../agents/verdict.ts';
import type { ConsoleFigures } from './measure-console.ts';

const OPEN_MS = 2_000;
const STEP_MS = 50;
const SCRIPT_KB = 250;

export interface Summary {
  readonly what: string;
  readonly median: number;
  readonly p95: number;
  readonly best: number;
  readonly unit: string;
}

export const summarise = ({ openMs, stepMs, loads }: ConsoleFigures): readonly Summary[] => [
  summaryOf('session opens', openMs, 'ms'),
  summaryOf('step of the slider', stepMs, 'ms'),
  summaryOf(
    'first paint',
    loads.map(({ firstPaintMs }) => firstPaintMs),
    'ms',
  ),
  summaryOf(
    'script until the first page',
    loads.map(({ scriptMs }) => scriptMs),
    'ms',
  ),
  summaryOf(
    'JavaScript of the first page',
    loads.map(({ scriptKb }) => scriptKb),
    'kB',
  ),
];

/** Company on the machine makes a round slower and none quicker: of the rounds that open a session the best one decides. */
export function judgeConsole(figures: ConsoleFigures): readonly Verdict[] {
  const [open, step, , , script] = summarise(figures);
  return [
    atMost(`a session of 50,000 events opens within ${OPEN_MS} ms`, open?.best ?? Number.NaN, OPEN_MS, 'ms'),
    atMost(
      `95 % of the slider's steps are drawn within ${STEP_MS} ms`,
      step?.p95 ?? Number.NaN,
      STEP_MS,
      'ms',
    ),
    atMost(
      `the first page has at most ${SCRIPT_KB} kB of JavaScript, packed`,
      script?.median ?? Number.NaN,
      SCRIPT_KB,
      'kB',
    ),
  ];
}

function summaryOf(what: string, values: readonly number[], unit: string): Summary {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  return { what, median: at(0.5), p95: at(0.95), best: sorted[0] ?? Number.NaN, unit };
}
