import { type TimeSaved, timeSavedText } from '../../events/time-saved.ts';
import type { Palette } from '../../manifest/palette.ts';
import type { SessionResult } from '../../session/runtime-types.ts';
import { wrap } from './columns.ts';
import { costText, countText, spanText, tokensText } from './figures.ts';

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

/** What a session took. */
export interface Times {
  /** Milliseconds in which it was worked on. */
  readonly workedMs: number;
  readonly saved: TimeSaved;
}

/** The last lines of a run: how it ended, what it took, and the time saved; wrapped if `columns` is given. */
export function closingLines(
  result: SessionResult,
  { workedMs, saved }: Times,
  paint: Palette,
  columns = Number.POSITIVE_INFINITY,
): readonly string[] {
  const { sign, paint: colour } = SIGNS[result.status];
  const parts = [
    countText(result.turns, 'turn'),
    tokensText(result.usage),
    ...(result.cost_usd > 0 ? [costText(result.cost_usd)] : []),
    spanText(workedMs),
  ];
  const lines = [`${paint[colour](`${sign} ${result.status}`)}  ${parts.join(' · ')}`];
  const told = timeSavedText(saved);
  if (told !== undefined) lines.push(...wrap(told, columns).map(paint.dim));
  return lines;
}
