import type { Palette } from '../../manifest/palette.ts';
import type { SessionResult } from '../../session/runtime-types.ts';
import { wrap } from './columns.ts';
import { costText, countText, spanText, tokensText } from './figures.ts';
import type { Overlap } from './overlap.ts';

const SIGNS: Readonly<
  Record<SessionResult['status'], { readonly sign: string; readonly paint: keyof Palette }>
> = {
  completed: { sign: '✓', paint: 'green' },
  failed: { sign: '✗', paint: 'red' },
  stalled: { sign: '✗', paint: 'yellow' },
  waiting: { sign: '…', paint: 'yellow' },
  cancelled: { sign: '–', paint: 'yellow' },
  interrupted: { sign: '–', paint: 'yellow' },
};

/** The last lines of a run: how it ended, what it took, and what was saved by not waiting; wrapped if `columns` is given. */
export function closingLines(
  result: SessionResult,
  overlap: Overlap,
  paint: Palette,
  columns = Number.POSITIVE_INFINITY,
): readonly string[] {
  const { sign, paint: colour } = SIGNS[result.status];
  const parts = [
    countText(result.turns, 'turn'),
    tokensText(result.usage),
    ...(result.cost_usd > 0 ? [costText(result.cost_usd)] : []),
    spanText(overlap.actualMs),
  ];
  const lines = [`${paint[colour](`${sign} ${result.status}`)}  ${parts.join(' · ')}`];
  const saved = overlapText(overlap);
  if (saved !== undefined) lines.push(...wrap(saved, columns).map(paint.dim));
  return lines;
}

/** Undefined where nothing was gained. */
export function overlapText({ early, leadMs, actualMs, waitingMs }: Overlap): string | undefined {
  if (early === 0 || leadMs < 1) return undefined;
  const first = early === 1 ? '' : 'the first ';
  const started = `${countText(early, 'action')} started while the model was speaking, ${first}${spanText(leadMs)} before the response ended`;
  const [waiting, actual] = [spanText(waitingMs), spanText(actualMs)];
  if (waitingMs - actualMs < 1 || waiting === actual) return `${started}.`;
  return `${started}; waiting for the end would have taken ${waiting} instead of ${actual}.`;
}
