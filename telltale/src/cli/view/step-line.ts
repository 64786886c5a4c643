import type { Palette } from '../../manifest/palette.ts';
import { withResult } from './action-line.ts';
import { brief, briefFields } from './brief.ts';
import { GIVEN_SHARE, type LinePart, MARKS, progressLine, timeText } from './progress-line.ts';
import { isStepOver, type StepView } from './step-log.ts';

/** One step on one line: how it stands, with what it was given, for how long, and what came of it. */
export function stepLine(view: StepView, columns: number, now: number, paint: Palette): string {
  const isOver = isStepOver(view);
  const note = view.note === undefined || view.note === null ? '' : brief(view.note, columns);
  const colour = isOver && view.status !== 'completed' ? MARKS[view.status].paint : 'dim';
  return lineWith(view, columns, now, paint, { text: note, colour });
}

/** The same with its result readable: see `actionLines`. */
export function stepLines(
  view: StepView,
  columns: number,
  now: number,
  paint: Palette,
  more?: string,
): readonly string[] {
  const { status, note } = view;
  if (status !== 'completed' || note === undefined || note === null)
    return [stepLine(view, columns, now, paint)];
  const line = lineWith(view, columns, now, paint);
  const untimed = lineWith({ ...view, ms: 0 }, columns, now, paint);
  return withResult({ line, untimed, output: note }, columns, paint, more);
}

function lineWith(view: StepView, columns: number, now: number, paint: Palette, note?: LinePart): string {
  const parts: readonly LinePart[] = [
    { text: briefFields(view.input ?? {}, Math.floor(columns * GIVEN_SHARE)), colour: 'dim' },
    { text: timeText(view, isStepOver(view), now) },
    ...(note === undefined ? [] : [note]),
  ];
  return progressLine(MARKS[view.status], brief(view.step, columns - 2), parts, columns, paint);
}
